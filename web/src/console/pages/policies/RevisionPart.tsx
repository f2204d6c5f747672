import { Group, Select, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useCan } from "../../../shell/me";
import { QueryView } from "../../../ui/states";
import { ActionButton } from "../../parts/ActionButton";
import { Part } from "../../parts/Part";
import { PolicyDifferenceView } from "./PolicyDifferenceView";
import { usePolicyDifference } from "./queries";

type Props = {
  fabric: string;
  list: Schemas["Policy"][];
  revision: number;
  against: number;
  onAgainst: (against: string) => void;
  onRestore: () => void;
  onLabel: () => void;
  onCompile: () => void;
};

/** One revision: what it changes against another one, its label, and the buttons that compile and restore it. */
export function RevisionPart(p: Props) {
  const { t } = useTranslation("policies");
  const can = useCan();
  const difference = usePolicyDifference(p.fabric, p.revision, p.against);
  const latest = p.list[0]?.revision ?? 0;
  const writes = can("policy", "write", p.fabric);
  const choices = p.list.filter((x) => x.revision !== p.revision);
  return (
    <Part
      title={t("revision-n", { revision: p.revision })}
      aside={
        <Group gap="xs">
          <ActionButton variant="default" size="compact-sm" allowed={writes} onClick={p.onLabel}>
            {t("label-edit")}
          </ActionButton>
          <ActionButton
            variant="default"
            size="compact-sm"
            allowed={can("plan", "write", p.fabric)}
            onClick={p.onCompile}
          >
            {t("compile-revision", { revision: p.revision })}
          </ActionButton>
          <ActionButton
            size="compact-sm"
            allowed={writes}
            reason={p.revision === latest ? t("restore-latest") : undefined}
            onClick={p.onRestore}
          >
            {t("restore", { revision: p.revision })}
          </ActionButton>
        </Group>
      }
    >
      <Stack gap="sm">
        {choices.length === 0 ? <Text>{t("first-revision")}</Text> : null}
        {choices.length > 0 ? (
          <Select
            label={t("compare-with")}
            data={choices.map((x) => ({
              value: String(x.revision),
              label: x.label
                ? t("revision-labelled", { revision: x.revision, label: x.label })
                : t("revision-n", { revision: x.revision }),
            }))}
            value={p.against > 0 ? String(p.against) : null}
            placeholder={t("compare-choose")}
            onChange={(v) => p.onAgainst(v ?? "")}
            maw={280}
            searchable
          />
        ) : null}
        {p.against > 0 ? (
          <QueryView query={difference}>{(d) => <PolicyDifferenceView difference={d} />}</QueryView>
        ) : null}
      </Stack>
    </Part>
  );
}
