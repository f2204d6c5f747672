import { Select, Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { StateBadge } from "../../../ui/StateBadge";
import { Partial, QueryView } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useUrlState } from "../../../ui/useUrlState";
import { DeviceName, Names, TenantName } from "../../parts/links";
import type { Plan } from "../../parts/plans";
import { ReasonTable } from "../../parts/ReasonTable";
import { kindKey } from "../../parts/SettingTable";
import { useFigures } from "../../parts/useFigures";
import { explained, useExplanations } from "./queries";
import { groupSettings, type SettingGroup } from "./settings";

/** Settings of every device with their reasons; devices that are set alike stand in one row. */
export function SettingsByDevice({ fabric, plan }: { fabric: string; plan: Plan }) {
  const { t } = useTranslation("plans");
  const [url, setUrl] = useUrlState({ tenant: "", device: "" });
  const query = useExplanations(fabric, plan.name, { tenant: url.tenant });
  return (
    <Stack gap="sm">
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
        maw={280}
      />
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

/** The devices of a group where its row names only the first ones, and each setting with its reasons. */
function Reasons({ group: g }: { group: SettingGroup }) {
  return (
    <Stack gap="xs" style={{ contain: "inline-size" }}>
      {g.names.length > 3 ? (
        <Text size="sm">
          <Names names={g.names} of={DeviceName} most={64} />
        </Text>
      ) : null}
      <ReasonTable reasons={g.reasons} />
    </Stack>
  );
}
