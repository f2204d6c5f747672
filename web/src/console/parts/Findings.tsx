import { Button, Group, List, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../api/client";
import { Said } from "../../ui/Said";
import { StateBadge, type Tone } from "../../ui/StateBadge";
import { LinkName, Names, TenantName } from "./links";
import { grouped, knownCode, type Severity } from "./severity";

type Finding = Schemas["Finding"];

const tones: Record<Severity, Tone> = { missed: "bad", limited: "warn", note: "info" };

/** Findings by code, the most severe first: what is found, for whom, where, and what would fix it. */
export function Findings({ items }: { items: Finding[] }) {
  const { t } = useTranslation("parts");
  const groups = grouped(items);
  if (items.length === 0) {
    return (
      <Text data-findings="0">
        <StateBadge tone="good">{t("findings-none")}</StateBadge> {t("findings-none-why")}
      </Text>
    );
  }
  return (
    <Stack gap="sm" data-findings={items.length}>
      <Text>
        {t("findings-count", {
          n: items.length,
          missed: groups.filter((g) => g.severity === "missed").flatMap((g) => g.items).length,
        })}
      </Text>
      {groups.map((g) => (
        <FindingGroup key={g.code} code={g.code} severity={g.severity} items={g.items} />
      ))}
    </Stack>
  );
}

/** Findings of one code shown before the reader asks for more. */
const first = 4;

function FindingGroup({ code, severity, items }: { code: string; severity: Severity; items: Finding[] }) {
  const { t } = useTranslation("parts");
  const [all, setAll] = useState(false);
  const shown = all ? items : items.slice(0, first);
  return (
    <section className="fl-panel" data-code={code}>
      <Group gap="sm" mb="xs">
        <StateBadge tone={tones[severity]}>{t(`severity.${severity}`)}</StateBadge>
        <Title order={3}>{knownCode(code) ? t(`code.${code}`) : code}</Title>
        <Text size="sm" c="dimmed">
          <code>{code}</code> · {t("findings-n", { n: items.length })}
        </Text>
      </Group>
      <List spacing="xs" listStyleType="none">
        {shown.map((f) => (
          <List.Item key={`${f.message} ${f.links.join()}`}>
            <OneFinding finding={f} />
          </List.Item>
        ))}
      </List>
      {items.length > first ? (
        <Button size="compact-sm" variant="default" mt="xs" onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? t("show-fewer") : t("show-more", { n: items.length - first })}
        </Button>
      ) : null}
    </section>
  );
}

function OneFinding({ finding: f }: { finding: Finding }) {
  const { t } = useTranslation("parts");
  return (
    <Stack gap={2}>
      <Text className="fl-name">
        <Said said={f.said} english={f.message} />
      </Text>
      {f.fix || f.advice ? (
        <Text size="sm" className="fl-name">
          <strong>{t("fix")}</strong> <Said said={f.advice} english={f.fix} />
        </Text>
      ) : null}
      <Group gap="md">
        {f.tenants.length > 0 ? (
          <Text size="sm">
            {t("finding-tenants", { n: f.tenants.length })} <Names names={f.tenants} of={TenantName} />
          </Text>
        ) : null}
        {f.links.length > 0 ? (
          <Text size="sm">
            {t("finding-links", { n: f.links.length })} <Names names={f.links} of={Place} most={4} />
          </Text>
        ) : null}
      </Group>
    </Stack>
  );
}

/** The places of a finding are link directions, or ports where the device is what limits. */
function Place({ name }: { name: string }) {
  return name.includes(" -> ") ? <LinkName name={name} /> : <span className="fl-name">{name}</span>;
}
