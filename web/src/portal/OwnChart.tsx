import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { stepOf } from "../api/prom";
import { useFormat } from "../format/useFormat";
import { LazyTimeChart } from "../ui/chart/LazyTimeChart";
import type { TimeRange } from "../ui/chart/types";
import { notContended, type OwnSeries } from "./series";
import { useSimulated } from "./tenant";

type Props = {
  title: string;
  series: OwnSeries;
  /** The range that the page asked for, while its series are on their way; without it, that of the series. */
  range?: TimeRange;
  /** Whether the range moves with the clock. */
  moving: boolean;
  onRange?: (from: number, to: number) => void;
  height?: number;
  csvName: string;
};

/** A tenant's entitled and delivered rates over time; hatched where it did not contend. */
export function OwnChart({ title, series, range = series.range, moving, onRange, height, csvName }: Props) {
  const { t } = useTranslation("share");
  const format = useFormat();
  const scale = format.rateScale([...series.entitled, ...series.delivered]);
  const scaled = (values: (number | null)[]) => values.map((v) => (v === null ? null : v / scale.divisor));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the scale follows from the series
  const lines = useMemo(
    () => [
      { label: t("entitled"), kind: "step" as const, values: scaled(series.entitled) },
      { label: t("delivered"), kind: "line" as const, values: scaled(series.delivered) },
    ],
    [series, scale.divisor, t],
  );
  const hatched = useMemo(
    () => notContended(series, stepOf(series.range.from, series.range.to), t("not-contended")),
    [series, t],
  );
  const measured = series.delivered.flatMap((v) => v ?? []);
  const summary =
    measured.length === 0
      ? t("chart-none")
      : t("chart-summary", {
          low: format.rate(Math.min(...measured)) ?? "",
          high: format.rate(Math.max(...measured)) ?? "",
          entitled: format.rate(series.entitled.findLast((v) => v !== null)) ?? t("common:not-measured"),
        });
  return (
    <LazyTimeChart
      title={title}
      summary={summary}
      unit={scale.unit}
      times={series.times}
      series={lines}
      hatched={hatched}
      range={range}
      fromFirst={moving}
      onRange={onRange}
      height={height}
      csvName={csvName}
      simulated={useSimulated()}
      now={Math.floor(Date.now() / 1000)}
    />
  );
}
