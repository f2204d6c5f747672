import uPlot from "uplot";
import type { Colours } from "./colours";
import { axisDates } from "./dates";
import { drawHatched, drawMarkers, drawMarks } from "./draw";
import { type Look, lookOf } from "./series";
import type { ChartBand, ChartMark, ChartSeries, Hatched, TimeRange } from "./types";

/** What the plot reads when it draws, so that new data need no new plot. */
export type Live = {
  range: TimeRange;
  hatched: Hatched[];
  marks: ChartMark[];
  now?: { at: number; label: string };
  format: (value: number) => string;
  onRange: (range: TimeRange) => void;
  onReset: () => void;
  onCursor: (index: number | undefined) => void;
};

type PlotShape = {
  width: number;
  height: number;
  series: ChartSeries[];
  bands: ChartBand[];
  hidden: ReadonlySet<number>;
  colours: Colours;
  language: string;
  sync?: string;
};

/** The options of a plot: no legend and no animation of its own; live() is asked on every drawing. */
export function optionsOf(shape: PlotShape, live: () => Live): uPlot.Options {
  const { series, bands, colours } = shape;
  const looks = series.map(lookOf);
  const first = series.length + 1;
  return {
    width: shape.width,
    height: shape.height,
    padding: [10, 32, 0, 4],
    legend: { show: false },
    scales: {
      x: { time: true, range: () => [live().range.from, live().range.to] },
      y: { range: (_u, low, high) => valueRange(low, high) },
    },
    axes: axesOf(shape, live),
    series: [
      {},
      ...series.map((s, i) => lineOf(s, looks[i] as Look, colours, !shape.hidden.has(i))),
      ...bands.flatMap((_, i) => edgesOf(colours, !shape.hidden.has(series.length + i))),
    ],
    bands: bands.map((_, i) => ({
      series: [first + 2 * i, first + 2 * i + 1] as [number, number],
      fill: colours.band,
    })),
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: 5 },
      points: { show: false },
      bind: {
        dblclick: () => () => {
          live().onReset();
          return null;
        },
      },
      // Only the crosshair is shared: a drag selects in one chart, and the page hands its range to all.
      ...(shape.sync
        ? {
            sync: {
              key: shape.sync,
              setSeries: false,
              scales: ["x", null] as [string, null],
              filters: { pub: (type: string) => type === "mousemove" || type === "mouseleave" },
            },
          }
        : {}),
    },
    hooks: {
      drawAxes: [(u) => drawHatched(u, live().hatched, colours)],
      drawSeries: [
        (u, i) => {
          const look = looks[i - 1];
          if (look && u.series[i]?.show) drawMarkers(u, i, look, colours);
        },
      ],
      draw: [(u) => drawMarks(u, live().marks, live().now, colours)],
      setCursor: [
        (u) =>
          live().onCursor(u.cursor.left === undefined || u.cursor.left < 0 ? undefined : (u.cursor.idx ?? undefined)),
      ],
      setSelect: [(u) => selected(u, live().onRange)],
    },
  };
}

function selected(u: uPlot, onRange: (range: TimeRange) => void) {
  const { left, width } = u.select;
  if (width < 5) return;
  const from = Math.round(u.posToVal(left, "x"));
  const to = Math.round(u.posToVal(left + width, "x"));
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  if (to > from) onRange({ from, to });
}

/** From zero (or the lowest negative value) to a little above the highest: a scale that does not start at zero would show a small change as a large one. */
function valueRange(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const span = Math.max(high, 0) - Math.min(low, 0);
  if (span === 0) return [0, 1];
  return [low < 0 ? low - span * 0.05 : 0, high > 0 ? high + span * 0.08 : 0];
}

function axesOf({ colours, language }: PlotShape, live: () => Live): uPlot.Axis[] {
  const look = {
    stroke: colours.soft,
    font: `12px ${colours.font}`,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { stroke: colours.grid, width: 1, size: 4 },
  };
  return [
    {
      ...look,
      size: 44,
      space: 72,
      values: (_u, splits, _axis, _space, step) => axisDates(splits, step, language),
    },
    {
      ...look,
      space: 34,
      gap: 4,
      values: (_u, splits) => splits.map((s) => live().format(s)),
      size: (_u, values) => 16 + 7.2 * Math.max(3, ...(values ?? []).map((v) => v.length)),
    },
  ];
}

function lineOf(series: ChartSeries, look: Look, colours: Colours, show: boolean): uPlot.Series {
  const stepped = series.kind !== "line";
  return {
    label: series.label,
    show,
    stroke: colours.series[look.colour - 1],
    width: look.width,
    dash: look.dash,
    spanGaps: false,
    points: { show: false },
    ...(stepped && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
  };
}

function edgesOf(colours: Colours, show: boolean): uPlot.Series[] {
  const edge: uPlot.Series = {
    show,
    stroke: colours.hatch,
    width: 1,
    dash: [2, 3],
    spanGaps: false,
    points: { show: false },
    ...(uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
  };
  return [edge, { ...edge }];
}
