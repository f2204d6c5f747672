import "./chart.css";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { DataTable } from "../table/DataTable";
import { exported } from "../table/rows";
import { saveCsv } from "../table/save";
import { toggled } from "../table/Toolbar";
import { Below } from "./Below";
import { ChartTools } from "./ChartTools";
import { Legend } from "./Legend";
import { Plot } from "./Plot";
import { fromFirst, gap, limitSeries } from "./series";
import { type TwinRow, twinColumns, twinRows } from "./twin";
import type { ChartBand, ChartMark, Hatched, TimeChartProps } from "./types";
import { useZoom } from "./useZoom";

const noBands: ChartBand[] = [];
const noHatched: Hatched[] = [];
const noMarks: ChartMark[] = [];

/** A chart over time with crosshair, zoom, legend, table twin and export. Use it by LazyTimeChart: uPlot is a chunk of its own. */
export default function TimeChart(p: TimeChartProps) {
  const { t } = useTranslation("ui");
  const { times, bands = noBands, hatched = noHatched, marks = noMarks, height = 260 } = p;
  const { drawn, format, twin, csv } = useChart(p, bands);
  const { zoom, first } = useRange(p, marks);
  const [table, setTable] = useState(false);
  const [off, setOff] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState<number>();
  const keys = useMemo(
    () => [...drawn.series, ...bands].map((s, i) => `${"kind" in s ? s.kind : "band"} ${s.label} ${i}`),
    [drawn, bands],
  );
  const hidden = useMemo(() => new Set(keys.flatMap((k, i) => (off.has(k) ? [i] : []))), [keys, off]);
  const live = {
    range: zoom.range,
    hatched,
    marks,
    now: p.now === undefined ? undefined : { at: p.now, label: t("chart.now") },
    format,
    onRange: zoom.change,
    onReset: zoom.reset,
    onCursor: setAt,
  };
  const gaps = useMemo(() => drawn.series.some((s) => times.some((_, i) => gap(s.values[i]) === null)), [drawn, times]);
  const toggle = (place: number) => setOff(toggled(off, keys[place] ?? ""));
  const rows = () => twinRows(times, zoom.range);
  return (
    <figure className="fl-chart" aria-label={p.title}>
      <figcaption className="fl-chart-head">
        <span className="fl-chart-title">{p.title}</span>
        <span className="fl-unit">{p.unit}</span>
        {p.simulated ? (
          <span className="fl-state" data-tone="simulated">
            {t("chart.simulated")}
          </span>
        ) : null}
        <ChartTools
          title={p.title}
          range={zoom.range}
          now={p.now}
          onRange={zoom.change}
          reset={zoom.changed ? zoom.reset : undefined}
          table={table}
          onTable={() => setTable(!table)}
          onCsv={p.csvName === undefined ? undefined : () => csv(rows())}
        />
      </figcaption>
      {table ? (
        <Twin title={p.title} rows={rows()} columns={twin} />
      ) : (
        <>
          <Plot
            label={t("chart.name", { title: p.title, summary: p.summary })}
            {...{ times, bands, hidden, height, live }}
            series={drawn.series}
            sync={p.sync}
          />
          <Legend
            {...{ times, bands, hidden, format, at }}
            title={p.title}
            unit={p.unit}
            series={drawn.series}
            range={zoom.range}
            onToggle={toggle}
          />
        </>
      )}
      <Below
        title={p.title}
        range={zoom.range}
        hatched={hatched}
        marks={marks}
        gaps={gaps}
        table={table}
        left={drawn.left}
        first={first}
      />
    </figure>
  );
}

/** The range with its changes by the reader, and the time of the first value where an empty beginning is left out. */
function useRange({ range, times, series, onRange, ...p }: TimeChartProps, marks: ChartMark[]) {
  const given: ReturnType<typeof fromFirst> = p.fromFirst ? fromFirst(range, times, series, marks) : range;
  const zoom = useZoom(given, onRange);
  return { zoom, first: zoom.range.from === given.from ? given.first : undefined };
}

/** The lines within the limit, the words of a value, and the table twin of all series. */
function useChart(p: TimeChartProps, bands: ChartBand[]) {
  const { t, i18n } = useTranslation("ui");
  const { series, unit, simulated, beyond } = p;
  const drawn = useMemo(
    () => limitSeries(series, (count) => t("chart.others", { count }), beyond),
    [series, beyond, t],
  );
  const own = useMemo(
    () => new Intl.NumberFormat(i18n.language, { maximumSignificantDigits: 3 }).format,
    [i18n.language],
  );
  const format = p.format ?? own;
  const twin = useMemo(
    () => twinColumns({ series, bands, unit, simulated, format, t }),
    [series, bands, unit, simulated, format, t],
  );
  const csv = (rows: TwinRow[]) => {
    const out = exported(rows, twin, t("not-measured"));
    saveCsv(p.csvName ?? "", out.head, out.rows);
  };
  return { drawn, format, twin, csv };
}

function Twin({ title, rows, columns }: { title: string; rows: TwinRow[]; columns: ReturnType<typeof twinColumns> }) {
  const { t } = useTranslation("ui");
  return (
    <DataTable
      caption={t("chart.table-of", { title })}
      rows={rows}
      columns={columns}
      rowId={(r) => String(r.at)}
      filterLabel={t("chart.filter")}
      count={(shown, total) => t("chart.count", { shown, total })}
      maxHeight="24rem"
    />
  );
}
