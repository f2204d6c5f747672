import type { ChartBand, ChartSeries, Marker, TimeRange } from "./types";

/** The most lines that colour, dash and marker distinguish. */
const mostSeries = 8;

/** Null for what was not measured: null, undefined, or not a finite number. Never zero. */
export function gap(value: number | null | undefined): number | null {
  return value === null || value === undefined || !Number.isFinite(value) ? null : value;
}

/** Values as long as the times, with gaps as null. */
function withGaps(values: (number | null | undefined)[], length: number): (number | null)[] {
  return Array.from({ length }, (_, i) => gap(values[i]));
}

/**
 * The lines that a chart draws: all up to eight. Of more, the seven with the largest mean stay, in their order, and the
 * others become one line, their sum. The sum has a gap wherever one of them has: a sum of a part would read as a drop.
 * "leave-out" keeps the eight largest and draws no sum. `left` counts the series that have no line of their own.
 */
export function limitSeries(
  series: ChartSeries[],
  othersLabel: (count: number) => string,
  beyond: "sum" | "leave-out" = "sum",
): { series: ChartSeries[]; left: number } {
  if (series.length <= mostSeries) return { series, left: 0 };
  const kept = beyond === "sum" ? mostSeries - 1 : mostSeries;
  const ranked = series.map((s, i) => ({ i, mean: mean(s.values) })).sort((a, b) => b.mean - a.mean || a.i - b.i);
  const keep = new Set(ranked.slice(0, kept).map((r) => r.i));
  const own = series.filter((_, i) => keep.has(i));
  const rest = series.filter((_, i) => !keep.has(i));
  if (beyond === "leave-out") return { series: own, left: rest.length };
  return {
    series: [...own, { label: othersLabel(rest.length), kind: rest[0]?.kind ?? "line", values: summed(rest) }],
    left: rest.length,
  };
}

function mean(values: (number | null)[]): number {
  const measured = values.flatMap((v) => gap(v) ?? []);
  return measured.length === 0 ? Number.NEGATIVE_INFINITY : measured.reduce((a, b) => a + b, 0) / measured.length;
}

function summed(series: ChartSeries[]): (number | null)[] {
  const length = Math.max(...series.map((s) => s.values.length));
  return Array.from({ length }, (_, i) =>
    series.reduce<number | null>((sum, s) => {
      const value = gap(s.values[i]);
      return sum === null || value === null ? null : sum + value;
    }, 0),
  );
}

/** The columns of the plot: times, lines, then upper and lower edge of each band. */
export function aligned(
  times: number[],
  series: ChartSeries[],
  bands: ChartBand[],
): [number[], ...(number | null)[][]] {
  const n = times.length;
  return [
    times,
    ...series.map((s) => withGaps(s.values, n)),
    ...bands.flatMap((b) => [withGaps(b.upper, n), withGaps(b.lower, n)]),
  ];
}

const markers: Marker[] = ["circle", "square", "triangle", "diamond", "cross", "plus", "bar", "ring"];
const dashes: number[][] = [[], [10, 4], [3, 3], [10, 3, 3, 3], [16, 4], [6, 3, 2, 3, 2, 3], [2, 5], [14, 3, 6, 3]];

/** How a line looks: each place differs in colour (1 to 8), dash and marker. */
export type Look = { colour: number; dash: number[]; marker: Marker; width: number };

export function lookOf(series: ChartSeries, place: number): Look {
  const at = place % mostSeries;
  if (series.kind === "predicted") return { colour: at + 1, dash: [5, 5], marker: "none", width: 1.5 };
  return { colour: at + 1, dash: dashes[at] ?? [], marker: markers[at] ?? "none", width: 2 };
}

/** The shortest range that a chart shows, in seconds. */
const shortest = 60;

/** The range made shorter (factor below 1) or longer about its middle, not past `now`. */
export function zoomed({ from, to }: TimeRange, factor: number, now?: number): TimeRange {
  const half = Math.max(((to - from) * factor) / 2, shortest / 2);
  const middle = (from + to) / 2;
  return until({ from: Math.round(middle - half), to: Math.round(middle + half) }, factor > 1 ? now : undefined);
}

/** The range moved by a part of its length: below 0 is earlier. Never past `now`. */
export function moved({ from, to }: TimeRange, part: number, now?: number): TimeRange {
  const by = Math.round((to - from) * part);
  return until({ from: from + by, to: to + by }, part > 0 ? now : undefined);
}

/** Moves a range back so that it ends at `now` at the latest, and keeps its length. */
function until({ from, to }: TimeRange, now: number | undefined): TimeRange {
  const over = now === undefined ? 0 : Math.max(0, to - Math.ceil(now));
  return { from: from - over, to: to - over };
}

/** The empty part of a range that a picture may have, before it is left out. */
const emptyPart = 0.2;

/**
 * The range without an empty beginning: from shortly before the first value or event in it. `first` is the time of the first value; undefined
 * where nothing is left out.
 */
export function fromFirst(
  range: TimeRange,
  times: number[],
  series: ChartSeries[],
  events: { at: number }[],
): TimeRange & { first?: number } {
  const inside = (at: number) => at >= range.from && at <= range.to;
  const first = times.find((at, i) => inside(at) && series.some((s) => gap(s.values[i]) !== null));
  if (first === undefined) return range;
  const begin = Math.min(first, ...events.map((e) => e.at).filter(inside), range.to - 5 * shortest);
  const from = Math.floor(begin - (range.to - begin) * 0.02);
  return from - range.from <= (range.to - range.from) * emptyPart ? range : { from, to: range.to, first };
}

/** The index of the last time in the range at which any line has a value; -1 when none has. */
export function latest(times: number[], series: ChartSeries[], range: TimeRange): number {
  for (let i = times.length - 1; i >= 0; i--) {
    const at = times[i] as number;
    if (at > range.to) continue;
    if (at < range.from) return -1;
    if (series.some((s) => gap(s.values[i]) !== null)) return i;
  }
  return -1;
}
