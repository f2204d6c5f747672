import { List, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { StateBadge } from "../../../ui/StateBadge";
import { When } from "../../../ui/When";
import type { FabricOverview } from "../../parts/inForce";
import { To } from "../../parts/links";
import { Panel } from "./Panel";

/** Firing alerts, each a link to the moment at which its condition began. */
export function AlertsPart({ overview: o }: { overview: FabricOverview }) {
  const { t } = useTranslation("overview");
  return (
    <Panel title={t("alerts")} name="alerts">
      <Text>
        {o.alerts_firing === 0 ? (
          t("alerts-none")
        ) : (
          <To to="/console/f/$fabric/alerts" params={{ fabric: o.fabric }}>
            {t("alerts-count", { n: o.alerts_firing })}
          </To>
        )}
      </Text>
      <List listStyleType="none" spacing="xs">
        {o.alerts.map((a) => (
          <List.Item key={`${a.name} ${a.tenant ?? ""} ${a.link ?? ""}`} data-alert={a.name}>
            <AlertLine fabric={o.fabric} alert={a} />
          </List.Item>
        ))}
      </List>
    </Panel>
  );
}

function AlertLine({ fabric, alert: a }: { fabric: string; alert: Schemas["FiringAlert"] }) {
  const { t } = useTranslation("overview");
  const page = a.severity === "page";
  const words = t("alert-line", { name: a.name, tenant: a.tenant ?? "", of: a.tenant ? "tenant" : "fabric" });
  return (
    <>
      <StateBadge tone={page ? "bad" : "warn"}>{a.severity ?? t("alert")}</StateBadge>{" "}
      {a.tenant ? (
        <To
          to="/console/f/$fabric/tenants/$tenant"
          params={{ fabric, tenant: a.tenant }}
          search={{ at: a.since, ...(a.link ? { link: a.link } : {}) }}
        >
          {words}
        </To>
      ) : (
        <To to="/console/f/$fabric/alerts" params={{ fabric }}>
          {words}
        </To>
      )}{" "}
      <When at={a.since} />
    </>
  );
}
