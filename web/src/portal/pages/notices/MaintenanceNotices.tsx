import { Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { all, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { announced } from "../../../format/announced";
import { useFormat } from "../../../format/useFormat";
import { useLanguage } from "../../../i18n";
import { Quote } from "../../../ui/Said";
import { maintenanceLook, StateBadge } from "../../../ui/StateBadge";
import { QueryView } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useTenantName } from "../../tenant";

type Notice = Schemas["MaintenanceNotice"];

/** Maintenance that touches the page's tenant. */
export function MaintenanceNotices() {
  const { t } = useTranslation("notices");
  const m = useTenantName();
  const list = useQuery({
    queryKey: keys.maintenance(m.fabric, m.tenant),
    queryFn: () =>
      all((cursor) =>
        data(
          client.GET("/api/v1/fabrics/{fabric}/tenants/{tenant}/maintenance", {
            params: { path: { ...m }, query: { limit: 1000, cursor } },
          }),
        ),
      ),
    refetchInterval: 60_000, // the state changes with time alone
  });
  return (
    <section data-notices>
      <Title order={2}>{t("maintenance")}</Title>
      <QueryView query={list}>
        {(items) => (items.length > 0 ? <NoticeTable items={items} /> : <Text>{t("maintenance-none")}</Text>)}
      </QueryView>
    </section>
  );
}

function NoticeTable({ items }: { items: Notice[] }) {
  const { t } = useTranslation("notices");
  const language = useLanguage();
  const { absolute } = useFormat();
  const columns = useMemo<Column<Notice>[]>(
    () => [
      {
        id: "text",
        header: t("text"),
        value: (n) => announced(n.text, language),
        cell: (n) => <Quote>{announced(n.text, language)}</Quote>,
        width: 20,
      },
      {
        id: "state",
        header: t("state"),
        value: (n) => t(`maintenance-state.${n.state}`, { defaultValue: n.state }),
        cell: (n) => (
          <StateBadge tone={maintenanceLook(n.state).tone} icon={maintenanceLook(n.state).icon}>
            {t(`maintenance-state.${n.state}`, { defaultValue: n.state })}
          </StateBadge>
        ),
        width: 7,
      },
      {
        id: "starts",
        header: t("starts"),
        value: (n) => n.starts_at,
        cell: (n) => <time dateTime={n.starts_at}>{absolute(Date.parse(n.starts_at))}</time>,
        width: 10,
      },
      {
        id: "ends",
        header: t("ends"),
        value: (n) => n.ends_at,
        cell: (n) => <time dateTime={n.ends_at}>{absolute(Date.parse(n.ends_at))}</time>,
        width: 10,
      },
    ],
    [t, language, absolute],
  );
  return (
    <DataTable
      caption={t("maintenance")}
      rows={items}
      columns={columns}
      rowId={(n) => n.id}
      filterLabel=""
      maxHeight="20rem"
    />
  );
}
