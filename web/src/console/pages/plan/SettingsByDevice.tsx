import { Group, Select, Stack, Table, Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { StateBadge } from "../../../ui/StateBadge";
import { Partial, QueryView } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useUrlState } from "../../../ui/useUrlState";
import { DeviceName, Names, TenantName } from "../../parts/links";
import { kindKey } from "../../parts/SettingTable";
import { useFigures } from "../../parts/useFigures";
import { explained, type Plan, useExplanations } from "./queries";
import { groupSettings, type SettingGroup } from "./settings";

/** Settings of every device with their reasons; devices that are set alike stand in one row. */
export function SettingsByDevice({ fabric, plan }: { fabric: string; plan: Plan }) {
  const { t } = useTranslation("plans");
  const [url, setUrl] = useUrlState({ tenant: "", device: "" });
  const query = useExplanations(fabric, plan.name, "", url.tenant);
  return (
    <Stack gap="sm">
      <Group align="flex-end">
        <Select
          label={t("settings-tenant")}
          data={[
            { value: "", label: t("settings-all") },
            ...plan.tenants.map((s) => ({ value: s.tenant, label: s.tenant })),
          ]}
          value={url.tenant}
          onChange={(tenant) => setUrl({ tenant: tenant ?? "" })}
          allowDeselect={false}
          searchable
        />
      </Group>
      <QueryView query={query}>
        {(items) => <Groups items={items} filter={url.device} onFilter={(device) => setUrl({ device })} />}
      </QueryView>
    </Stack>
  );
}

type GroupsProps = { items: Schemas["Explanation"][]; filter: string; onFilter: (filter: string) => void };

function Groups({ items, filter, onFilter }: GroupsProps) {
  const { t } = useTranslation("plans");
  const { number } = useFigures();
  const groups = useMemo(() => groupSettings(items), [items]);
  const columns = useMemo<Column<SettingGroup>[]>(
    () => [
      {
        id: "devices",
        header: t("devices"),
        value: (g) => g.names.join(" "),
        cell: (g) => <Names names={g.names} of={DeviceName} most={3} />,
        width: 16,
      },
      {
        id: "count",
        header: t("count"),
        align: "end",
        value: (g) => g.names.length,
        cell: (g) => number(g.names.length),
      },
      { id: "kind", header: t("kind"), value: (g) => t("kind-of", { kind: kindKey(g.kind) }) },
      {
        id: "tenants",
        header: t("tenants"),
        value: (g) => g.tenants.join(" "),
        cell: (g) => (g.tenants.length > 0 ? <Names names={g.tenants} of={TenantName} most={4} /> : t("all-traffic")),
      },
      {
        id: "settings",
        header: t("settings"),
        align: "end",
        value: (g) => g.reasons.length,
        cell: (g) => number(g.reasons.length),
      },
      {
        id: "clamped",
        header: t("clamped"),
        align: "end",
        value: (g) => g.clamped,
        cell: (g) => (g.clamped > 0 ? <StateBadge tone="warn">{number(g.clamped)}</StateBadge> : number(0)),
      },
    ],
    [t, number],
  );
  return (
    <>
      {items.length >= explained ? <Partial>{t("settings-cut", { n: explained })}</Partial> : null}
      <DataTable
        caption={t("settings-caption")}
        rows={groups}
        columns={columns}
        rowId={(g) => g.key}
        filter={filter}
        onFilter={onFilter}
        filterLabel={t("settings-filter")}
        count={(shown, total) => t("settings-count", { shown, total, devices: items.length })}
        expanded={(g) => <Reasons group={g} />}
        maxHeight="36rem"
      />
    </>
  );
}

/** Each setting of a group: value, rule, formula, legal range, and what limited it. */
function Reasons({ group: g }: { group: SettingGroup }) {
  const { t } = useTranslation("plans");
  return (
    <Stack gap="xs" style={{ contain: "inline-size" }}>
      {g.names.length > 3 ? (
        <Text size="sm">
          <Names names={g.names} of={DeviceName} most={64} />
        </Text>
      ) : null}
      <Table.ScrollContainer
        minWidth={640}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, role: "region", "aria-label": t("reasons") } }}
      >
        <Table verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              {(["setting", "value", "tenant", "rule", "formula", "range", "limit"] as const).map((h) => (
                <Table.Th scope="col" key={h}>
                  {t(`reason-${h}`)}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {g.reasons.map((r) => (
              <Table.Tr key={`${r.field} ${r.tenant ?? ""}`}>
                <Table.Th scope="row" fw={500} miw={132} className="fl-name">
                  <code>{r.field}</code>
                </Table.Th>
                <Table.Td className="fl-numeric" lang="en">
                  {r.value}
                  {r.unit ? ` (${r.unit})` : null}
                </Table.Td>
                <Table.Td>{r.tenant ? <TenantName name={r.tenant} /> : t("all-traffic")}</Table.Td>
                <Table.Td>
                  <code>{r.rule}</code>
                </Table.Td>
                <Table.Td lang="en" style={{ minWidth: "18rem" }}>
                  {r.formula}
                </Table.Td>
                <Table.Td lang="en">{r.range ?? t("any-value")}</Table.Td>
                <Table.Td lang="en">
                  {r.clamped ? <StateBadge tone="warn">{r.clamped}</StateBadge> : t("no-limit")}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Stack>
  );
}
