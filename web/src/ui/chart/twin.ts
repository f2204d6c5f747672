import type { TFunction } from "i18next";
import type { Column } from "../table/types";
import { iso } from "./dates";
import { gap } from "./series";
import type { ChartBand, ChartSeries, TimeRange } from "./types";

/** A row of the table twin: the index of its time. */
export type TwinRow = { at: number; index: number };

type TwinOf = {
  series: ChartSeries[];
  bands: ChartBand[];
  unit: string;
  simulated?: boolean;
  format: (value: number) => string;
  t: TFunction<"ui">;
};

/** The columns of the table twin and of the exported file: time in ISO 8601, all series (also those without a line), bounds, source. */
export function twinColumns({ series, bands, unit, simulated, format, t }: TwinOf): Column<TwinRow>[] {
  const column = (id: string, header: string, values: (number | null)[]): Column<TwinRow> => ({
    id,
    header,
    unit,
    align: "end",
    value: (row) => gap(values[row.index]) ?? undefined,
    cell: (row) => {
      const value = gap(values[row.index]);
      return value === null ? undefined : format(value);
    },
  });
  return [
    { id: "time", header: t("chart.time"), value: (row) => iso(row.at) },
    ...series.map((s, i) => column(`s${i}`, s.label, s.values)),
    ...bands.flatMap((b, i) => [
      column(`l${i}`, t("chart.lower", { label: b.label }), b.lower),
      column(`u${i}`, t("chart.upper", { label: b.label }), b.upper),
    ]),
    ...(simulated ? [{ id: "source", header: t("chart.source"), value: () => t("chart.simulated") }] : []),
  ];
}

/** The times within the range. */
export function twinRows(times: number[], { from, to }: TimeRange): TwinRow[] {
  return times.flatMap((at, index) => (at >= from && at <= to ? [{ at, index }] : []));
}
