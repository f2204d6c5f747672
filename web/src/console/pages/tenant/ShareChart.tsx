import { Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useFormat } from "../../../format/useFormat";
import { useSay } from "../../../i18n/say";
import { LazyTimeChart } from "../../../ui/chart/LazyTimeChart";
import type { ChartMark, TimeRange } from "../../../ui/chart/types";
import { usePlanInForce } from "../../parts/plans";
import { bandOf, entitledNow, type History, hatchedOf } from "./history";
import { markHref } from "./log";

type Props = {
  fabric: string;
  tenant: string;
  history: History;
  step: number;
  range: TimeRange;
  /** Whether the range moves with the clock. */
  moving: boolean;
  events: Schemas["Event"][];
  at: number | undefined;
  now: number;
  simulated: boolean;
  onRange: (from: number, to: number) => void;
};

/** The band of what the tenant may have, and the line of what it received, over contended time. */
export function ShareChart({
  fabric,
  tenant,
  history: h,
  step,
  range,
  moving,
  events,
  at,
  now,
  simulated,
  onRange,
}: Props) {
  const { t } = useTranslation(["tenant", "common", "parts"]);
  const f = useFormat();
  const plan = usePlanInForce(fabric).plan?.tenants.find((x) => x.tenant === tenant);
  const bound = plan?.bound ?? 0;
  const may = useMemo(() => entitledNow(h), [h]);
  const scale = f.rateScale([...h.entitled, ...h.delivered, ...h.predicted, ...may.map((v) => (v ?? 0) * (1 + bound))]);
  const inUnit = (values: (number | null)[]) => values.map((v) => (v === null ? null : v / scale.divisor));
  const marks = useChartMarks(fabric, tenant, events, range.from, at);
  const hatched = hatchedOf(h, step, (states) =>
    t("not-contended", {
      states: states.map((s) => t(`common:measured.${s}`, { defaultValue: s })).join(t("parts:list-separator")),
    }),
  );
  const measured = h.delivered.filter((v) => v !== null).length;
  const contended = h.states.filter((s) => s === "contending").length;
  const mean = (values: (number | null)[]) => {
    const some = values.flatMap((v, i) => (v === null || h.states[i] !== "contending" ? [] : [v]));
    return some.length ? some.reduce((a, b) => a + b, 0) / some.length : undefined;
  };
  return (
    <>
      <LazyTimeChart
        title={t("chart", { tenant })}
        summary={t("chart-summary", {
          contended: f.share(h.times.length ? contended / h.times.length : 0) ?? "",
          measured: f.share(h.times.length ? measured / h.times.length : 0) ?? "",
          delivered: f.rate(mean(h.delivered)) ?? t("common:not-measured"),
          now: f.rate(mean(may)) ?? t("common:not-measured"),
        })}
        unit={scale.unit}
        times={h.times}
        series={[
          { label: t("common:entitled"), kind: "step", values: inUnit(h.entitled) },
          { label: t("common:delivered"), kind: "line", values: inUnit(h.delivered) },
          {
            label: t("predicted-bound", { bound: f.share(plan?.bound) ?? t("common:not-measured") }),
            kind: "predicted",
            values: inUnit(h.predicted),
          },
        ]}
        bands={[bandOf(t("band", { bound: f.share(bound) ?? "" }), inUnit(may), bound)]}
        hatched={hatched}
        marks={marks}
        range={range}
        fromFirst={moving}
        onRange={onRange}
        format={(v) => scale.format(v * scale.divisor) ?? ""}
        csvName={`${fabric}-${tenant}-share`}
        simulated={simulated}
        now={now}
        sync="tenant"
      />
      {measured === 0 ? <Text>{t("chart-none")}</Text> : null}
    </>
  );
}

/** Changes that may have moved the tenant's share, and the moment of the alert. */
function useChartMarks(
  fabric: string,
  tenant: string,
  events: Schemas["Event"][],
  from: number,
  at: number | undefined,
): ChartMark[] {
  const { t } = useTranslation("tenant");
  const say = useSay();
  return useMemo(() => {
    const shown = events.filter((e) => Date.parse(e.at) >= from * 1000).reverse();
    const marks: ChartMark[] = shown.map((e) => ({
      at: Date.parse(e.at) / 1000,
      label: say(e.said, e.message),
      kind: e.kind.split(".")[0] ?? "",
      href: markHref(fabric, tenant, e),
    }));
    return at === undefined ? marks : [...marks, { at, label: t("moment"), kind: "alert" }];
  }, [events, from, at, fabric, tenant, say, t]);
}
