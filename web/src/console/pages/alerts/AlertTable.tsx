import { Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useSay } from "../../../i18n/say";
import { StateBadge } from "../../../ui/StateBadge";
import { Empty } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { When } from "../../../ui/When";
import { LinkName, To } from "../../parts/links";
import type { Alert } from "./queries";

/** Active alerts, each with a link to its tenant at the time when it began. */
export function AlertTable({ fabric, alerts }: { fabric: string; alerts: Alert[] }) {
  const { t } = useTranslation(["alerts", "common"]);
  const say = useSay();
  const columns = useMemo<Column<Alert>[]>(() => {
    const text = (a: Alert, part: "summary" | "description") =>
      say(
        { id: `alert.${a.labels.alertname}.${part}`, params: { ...a.labels, value: a.value } },
        a.annotations[part] ?? a.labels.alertname ?? "",
      );
    return [
      {
        id: "alert",
        header: t("alert"),
        width: 20,
        value: (a) => text(a, "summary"),
        cell: (a) => (
          <Stack gap={2}>
            <span>{text(a, "summary")}</span>
            <Text size="sm" c="dimmed">
              {text(a, "description")}
            </Text>
          </Stack>
        ),
      },
      {
        id: "state",
        header: t("common:state"),
        value: (a) => t(a.state === "firing" ? "firing" : "pending"),
        cell: (a) => (
          <StateBadge tone={a.state === "firing" ? "bad" : "warn"} icon={a.state === "firing" ? "warning" : "clock"}>
            {t(a.state === "firing" ? "firing" : "pending")}
          </StateBadge>
        ),
      },
      {
        id: "severity",
        header: t("severity"),
        value: (a) => t(a.labels.severity === "page" ? "page" : "ticket"),
      },
      {
        id: "tenant",
        header: t("common:tenant"),
        missing: t("common:none"),
        value: (a) => a.labels.tenant,
        cell: (a) => (a.labels.tenant ? <AlertPlace fabric={fabric} alert={a} /> : undefined),
      },
      {
        id: "link",
        header: t("common:link"),
        missing: t("common:none"),
        value: (a) => a.labels.link,
        cell: (a) => (a.labels.link ? <LinkName name={a.labels.link} /> : undefined),
      },
      { id: "since", header: t("since"), value: (a) => a.activeAt, cell: (a) => <When at={a.activeAt} /> },
    ];
  }, [t, say, fabric]);
  return (
    <DataTable
      caption={t("alerts")}
      rows={alerts}
      columns={columns}
      rowId={(a) => Object.entries(a.labels).sort().join(" ")}
      filterLabel={alerts.length < 12 ? "" : t("alerts-filter")}
      empty={<Empty title={t("alerts-none")} why={t("alerts-none-why")} />}
      csvName={`${fabric}-alerts`}
      maxHeight="28rem"
    />
  );
}

/** The tenant's page at the time of the alert, with its link selected. */
function AlertPlace({ fabric, alert: a }: { fabric: string; alert: Alert }) {
  const tenant = a.labels.tenant ?? "";
  const search: Record<string, string> = { at: a.activeAt, ...(a.labels.link ? { link: a.labels.link } : {}) };
  return (
    <To to="/console/f/$fabric/tenants/$tenant" params={{ fabric, tenant }} search={search}>
      {tenant}
    </To>
  );
}
