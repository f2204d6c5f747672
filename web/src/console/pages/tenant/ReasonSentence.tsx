import { Group, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { byCap } from "../../../format/byCap";
import { useFormat } from "../../../format/useFormat";
import { useCan } from "../../../shell/me";
import { measuredLook, StateBadge } from "../../../ui/StateBadge";
import { useActor } from "../../../ui/useActor";
import { When } from "../../../ui/When";
import { LinkName, Names, TenantName, To } from "../../parts/links";
import type { Measured, Tenant } from "../tenants/queries";
import { useTenantEntries } from "./ChangeLog";
import { settingEntry } from "./log";
import { type Now, useMeetings } from "./queries";

type Props = { tenant?: Tenant; now: Now; measured: Measured | undefined };

/** What the tenant gets, and what limits it: a link with the tenants that it shares the link with, and its cap. */
export function ReasonSentence({ tenant, now, measured }: Props) {
  const { t } = useTranslation(["tenant", "common"]);
  const f = useFormat();
  const state = now.state ?? "not-measured";
  const received = measured?.received;
  const low = state === "contending" && received !== undefined && received < now.objective.bound;
  const look = low ? ({ tone: "bad", icon: "warning" } as const) : measuredLook(state);
  const values = {
    delivered: f.rate(now.delivered_bps) ?? t("common:not-measured"),
    entitled: f.rate(now.entitled_bps) ?? t("common:none"),
    received: f.share(received) ?? t("common:not-measured"),
    bound: f.share(now.objective.bound) ?? "",
    link: measured?.link ?? "",
    low: low ? "yes" : "no",
    planned: now.entitled_bps === undefined ? "no" : "yes",
  };
  return (
    <>
      <Group gap="sm" data-state={state}>
        <StateBadge {...look}>
          {low ? t("below-share") : t(`common:measured.${state}`, { defaultValue: state })}
        </StateBadge>
        <span className="fl-name">{t(`reason.${state}`, { ...values, defaultValue: "" })}</span>
      </Group>
      {byCap(tenant?.cap_bps, now.entitled_bps) ? (
        <Text size="sm">
          {t("reason-by-cap", { cap: f.rate(tenant?.cap_bps) ?? "" })} <CapSetter now={now} />
        </Text>
      ) : null}
      {state === "contending" && measured?.link ? <Rivals now={now} link={measured.link} /> : null}
    </>
  );
}

/** Who set the cap and when, as a link to the entry of the audit log; without the right to read that, to the tenant's change log. */
function CapSetter({ now }: { now: Now }) {
  const { t } = useTranslation("tenant");
  const actor = useActor();
  const can = useCan();
  const log = useTenantEntries(now.fabric, now.tenant, can("audit", "read"));
  if (log.isLoading) return null;
  const entry = settingEntry(log.data?.items ?? [], "cap");
  return entry ? (
    <span data-cap-set={entry.seq}>
      <To to="/console/audit" search={{ seq: String(entry.seq) }}>
        {t("reason-by-cap-who", { actor: actor(entry.actor) })}
      </To>{" "}
      <When at={entry.at} />
    </span>
  ) : (
    <To
      to="/console/f/$fabric/tenants/$tenant"
      params={{ fabric: now.fabric, tenant: now.tenant }}
      search={{ tab: "log" }}
    >
      {t("reason-by-cap-log")}
    </To>
  );
}

/** The link for which the tenant contends, and the other tenants there. */
function Rivals({ now, link }: { now: Now; link: string }) {
  const { t } = useTranslation("tenant");
  const meeting = useMeetings(now.fabric, now.tenant, undefined).data?.find((m) => m.link === link);
  const others = (meeting?.tenants ?? []).map((x) => x.tenant).filter((name) => name !== now.tenant);
  return (
    <Text size="sm">
      {t("reason-link")} <LinkName name={link} fabric={now.fabric} />
      {others.length > 0 ? (
        <>
          {" · "}
          {t("reason-rivals")} <Names names={others} of={TenantName} most={5} />
        </>
      ) : null}
    </Text>
  );
}
