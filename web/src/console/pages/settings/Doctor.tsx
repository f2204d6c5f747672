import { Button, Group, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useCan, useMe } from "../../../shell/me";
import { Copyable } from "../../../ui/CopyAs";
import type { IconName } from "../../../ui/icons";
import { Said } from "../../../ui/Said";
import { StateBadge, type Tone } from "../../../ui/StateBadge";
import { Empty, NoRight, QueryView } from "../../../ui/states";
import { When } from "../../../ui/When";
import { Part } from "../../parts/Part";
import { ScrollTable } from "../../parts/ScrollTable";

type Finding = Schemas["DoctorFinding"];

const looks: Record<Finding["status"], { tone: Tone; icon: IconName }> = {
  ok: { tone: "good", icon: "check" },
  unknown: { tone: "neutral", icon: "unknown" },
  warning: { tone: "warn", icon: "warning" },
  fault: { tone: "bad", icon: "cross" },
};

const isProblem = (f: Finding) => f.status === "warning" || f.status === "fault";

/** What the service finds wrong with itself, with remedies. */
export function Doctor() {
  const { t } = useTranslation("settings");
  const can = useCan();
  const me = useMe();
  return (
    <Part title={t("doctor")}>
      <Stack gap="sm">
        <Text size="sm">{t("doctor-why")}</Text>
        {me.data && !can("diagnostics", "read") ? <NoRight /> : <Diagnosis />}
        <Text size="sm">{t("doctor-more")}</Text>
        <Copyable label={t("doctor-command")} text="fairlane doctor --config /etc/fairlane/fairlane.yaml" />
      </Stack>
    </Part>
  );
}

function Diagnosis() {
  const { t } = useTranslation("settings");
  const query = useQuery({ queryKey: keys.doctor(), queryFn: () => data(client.GET("/api/v1/doctor")) });
  const [all, setAll] = useState(false);
  return (
    <QueryView query={query}>
      {({ checked_at, findings }) => {
        const problems = findings.filter(isProblem);
        const faults = problems.filter((f) => f.status === "fault").length;
        const rest = findings.length - problems.length;
        return (
          <Stack gap="sm" data-doctor={problems.length}>
            <Group gap="md">
              <Text size="sm" role="status">
                {t("doctor-sum", { faults, warnings: problems.length - faults, total: findings.length })}
              </Text>
              <Text size="sm">
                {t("doctor-checked")} <When at={checked_at} />
              </Text>
              <Button variant="default" size="xs" loading={query.isFetching} onClick={() => void query.refetch()}>
                {t("doctor-again")}
              </Button>
              {rest > 0 ? (
                <Button variant="default" size="xs" aria-expanded={all} onClick={() => setAll(!all)}>
                  {all ? t("doctor-few") : t("doctor-all", { n: rest })}
                </Button>
              ) : null}
            </Group>
            {problems.length === 0 && !all ? (
              <Empty title={t("doctor-none")} why={t("doctor-none-why")} />
            ) : (
              <FindingTable findings={all ? findings : problems} />
            )}
          </Stack>
        );
      }}
    </QueryView>
  );
}

function FindingTable({ findings }: { findings: Finding[] }) {
  const { t } = useTranslation("settings");
  return (
    <ScrollTable
      label={t("doctor-findings")}
      aria-label={t("doctor-findings")}
      minWidth={640}
      head={[t("doctor-check"), t("doctor-status"), t("doctor-found"), t("doctor-remedy")]}
    >
      {findings.map((f, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two findings may be alike, and their order is that of the checks
        <Table.Tr key={i} data-code={f.code}>
          <Table.Th scope="row">
            {t(`doctor-check.${f.check}`, { defaultValue: f.check })}
            {f.subject ? (
              <Text size="sm" c="dimmed" fw="normal" className="fl-name">
                {f.subject}
              </Text>
            ) : null}
          </Table.Th>
          <Table.Td>
            <StateBadge {...looks[f.status]}>{t(`doctor-status.${f.status}`)}</StateBadge>
          </Table.Td>
          <Table.Td style={{ overflowWrap: "anywhere" }}>
            <Said said={f.said} english={f.text} />
          </Table.Td>
          <Table.Td style={{ overflowWrap: "anywhere" }}>
            {f.remedy ? <Said said={f.remedy_said} english={f.remedy} /> : null}
          </Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}
