/** One line of a chart. A value that was not measured is null, and a gap. */
export type ChartSeries = {
  label: string;
  values: (number | null)[];
  /** Straight between values, held until the next one, or a prediction, which is held and dashed. */
  kind: "line" | "step" | "predicted";
};

export type Marker = "circle" | "square" | "triangle" | "diamond" | "cross" | "plus" | "bar" | "ring" | "none";

/** The filled area between two lines: an entitlement with its bound. */
export type ChartBand = { label: string; upper: (number | null)[]; lower: (number | null)[] };

/** A time hatched over the whole height: "not contended". Seconds since 1970. */
export type Hatched = { from: number; to: number; label: string };

/** A vertical line with a label: a rollout, a policy revision. Seconds since 1970. */
export type ChartMark = { at: number; label: string; href?: string; kind: string };

/** A range of time in seconds since 1970. */
export type TimeRange = { from: number; to: number };

export type TimeChartProps = {
  title: string;
  /** What the chart shows, in a sentence: for readers who do not see it. */
  summary: string;
  /** The one unit of all values: "Gbit/s", "%". */
  unit: string;
  /** Seconds since 1970, ascending. */
  times: number[];
  series: ChartSeries[];
  bands?: ChartBand[];
  hatched?: Hatched[];
  marks?: ChartMark[];
  range: TimeRange;
  /** Whether the picture leaves out an empty beginning of the range, before the first value and event: for ranges that move with the clock. */
  fromFirst?: boolean;
  /** Called after a drag and by the buttons; "Reset range" gives the range from before the first zoom. Without it the chart keeps its own range. */
  onRange?: (from: number, to: number) => void;
  /** Charts with the same key share the crosshair. */
  sync?: string;
  /** CSS pixels. */
  height?: number;
  /** A value in words, without the unit; three digits when left out. */
  format?: (value: number) => string;
  csvName?: string;
  simulated?: boolean;
  /** The present, in seconds since 1970: a line in the chart, and the end of "Later". */
  now?: number;
  /** What happens to series beyond the eighth: their sum as one line (rates), or only the table has them (errors). */
  beyond?: "sum" | "leave-out";
};
