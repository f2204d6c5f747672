import { Group } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { measuredLook, StateBadge } from "../../../ui/StateBadge";
import type { Measured } from "../tenants/queries";
import type { Now } from "./queries";

/** One sentence: what the tenant gets, and what limits it. */
export function ReasonSentence({ now, measured }: { now: Now; measured: Measured | undefined }) {
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
    <Group gap="sm" data-state={state}>
      <StateBadge {...look}>
        {low ? t("below-share") : t(`common:measured.${state}`, { defaultValue: state })}
      </StateBadge>
      <span className="fl-name">{t(`reason.${state}`, { ...values, defaultValue: "" })}</span>
    </Group>
  );
}
