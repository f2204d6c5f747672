import { Stack, Table, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../api/client";
import { byKind, settingChanges, totals } from "./difference";
import { FindingChanges } from "./FindingChanges";
import { DeviceName, LinkName, Names, TenantName } from "./links";
import { Predicted } from "./Predicted";
import { ScrollTable } from "./ScrollTable";
import { SettingTable } from "./SettingTable";
import { SharesTable } from "./SharesTable";

type Difference = Schemas["PlanDifference"];

/**
 * The sentence of a difference, such as "45 settings on 14 devices change; 1 tenant gains, 2 lose". `devices` is their exact number, where it
 * is known: a difference names only the first ones.
 */
export function useDifferenceSentence(): (d: Difference, devices?: number) => string {
  const { t } = useTranslation("parts");
  return (d, devices) => {
    const x = totals(d);
    if (x.empty) return t("difference-none");
    return t("difference-sentence", {
      settings: x.settings,
      devices: devices ?? x.devices,
      exact: devices !== undefined || x.exact ? "yes" : "no",
      gains: x.gains.length,
      loses: x.loses.length,
      comes: x.comes.length,
      goes: x.goes.length,
      changed: x.gains.length + x.loses.length + x.comes.length + x.goes.length,
    });
  };
}

type Props = {
  difference: Difference;
  /** Leaves out the table of shares, where the page shows one already. */
  withoutShares?: boolean;
  /** The exact number of devices that change, where it is known. */
  devices?: number;
};

/** What differs between two plans: shares, settings, devices, links that become or stop being contended, findings. */
export function DifferenceView({ difference: d, withoutShares = false, devices }: Props) {
  const { t } = useTranslation("parts");
  const sentence = useDifferenceSentence();
  const tenants = d.tenants ?? [];
  const shares = tenants.filter((x) => x.before || x.after);
  const changes = settingChanges(d);
  return (
    <Stack gap="md" data-difference={`${d.from.slice(0, 12)} ${d.to.slice(0, 12)}`}>
      <Text className="fl-sentence">{sentence(d, devices)}</Text>
      {shares.length > 0 && !withoutShares ? (
        <SharesTable after={shares.flatMap((x) => x.after ?? [])} before={shares.flatMap((x) => x.before ?? [])} />
      ) : null}
      {d.minor ? (
        <Text size="sm" c="dimmed">
          {t("difference-minor", { n: d.minor })}
        </Text>
      ) : null}
      {byKind(changes).map(([kind, list]) => (
        <SettingTable key={kind} kind={kind} changes={list} />
      ))}
      <Places difference={d} />
      <ClassTable tenants={tenants} />
      <FindingChanges difference={d} />
    </Stack>
  );
}

/** Devices that only one plan sets, and links whose contention begins or ends. */
function Places({ difference: d }: { difference: Difference }) {
  const { t } = useTranslation("parts");
  const lines: { label: string; list: Schemas["NameList"]; of: React.ComponentType<{ name: string }> }[] = [];
  for (const x of d.devices ?? []) {
    const kind = x.kind;
    if (x.added) lines.push({ label: t("devices-added", { n: x.added.count, kind }), list: x.added, of: DeviceName });
    if (x.removed)
      lines.push({ label: t("devices-removed", { n: x.removed.count, kind }), list: x.removed, of: DeviceName });
  }
  if (d.contended)
    lines.push({ label: t("links-contended", { n: d.contended.count }), list: d.contended, of: LinkName });
  if (d.relieved) lines.push({ label: t("links-relieved", { n: d.relieved.count }), list: d.relieved, of: LinkName });
  if (lines.length === 0) return null;
  return (
    <Stack gap={4}>
      <Title order={3}>{t("places")}</Title>
      {lines.map((l) => (
        <Text key={l.label} size="sm">
          {l.label} <Names names={l.list.names} count={l.list.count} of={l.of} />
        </Text>
      ))}
    </Stack>
  );
}

/** Rates of classes inside tenants, where they change. */
function ClassTable({ tenants }: { tenants: Schemas["TenantChange"][] }) {
  const { t } = useTranslation("parts");
  const rows = tenants.flatMap((x) => (x.classes ?? []).map((c) => ({ tenant: x.tenant, ...c })));
  if (rows.length === 0) return null;
  return (
    <section>
      <Title order={3}>{t("classes")}</Title>
      <ScrollTable
        label={t("classes")}
        minWidth={360}
        head={[t("tenant"), t("class"), t("predicted-before"), t("predicted-after")]}
      >
        {rows.map((r) => (
          <Table.Tr key={`${r.tenant}/${r.class}`}>
            <Table.Td>
              <TenantName name={r.tenant} />
            </Table.Td>
            <Table.Td className="fl-name">{r.class || t("class-none")}</Table.Td>
            <Table.Td>
              <Predicted of={r.before} />
            </Table.Td>
            <Table.Td>
              <Predicted of={r.after} />
            </Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
    </section>
  );
}
