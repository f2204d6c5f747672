import { useTranslation } from "react-i18next";
import { gap } from "./series";

type SparklineProps = {
  /** What the values are: "Delivered in the last hour". */
  label: string;
  /** Values at equal distances; null is a gap. */
  values: (number | null)[];
  /** End of the scale, which starts at zero or at a lower value. Give the same end to all lines of a column. */
  max: number;
  /** A value in words with its unit. */
  format: (value: number) => string;
};

/** CSS pixels. */
const width = 96;
const height = 24;

/** A small line without axes. It names its last, lowest and highest value. */
export function Sparkline({ label, values, max, format }: SparklineProps) {
  const { t } = useTranslation("ui");
  const measured = values.flatMap((v) => gap(v) ?? []);
  const low = Math.min(...measured);
  const high = Math.max(...measured);
  const last = gap(values.at(-1));
  const name =
    measured.length === 0
      ? t("spark.none", { label })
      : t("spark.values", {
          label,
          last: last === null ? t("not-measured") : format(last),
          low: format(low),
          high: format(high),
        });
  const { line, points } = sparkPath(values, width, height, Math.min(0, low), max);
  return (
    <svg
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={name}
      style={{ color: "var(--fl-series-1)" }}
    >
      <title>{name}</title>
      <path d={line} fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinejoin="round" />
      {points.map(([x, y]) => (
        <circle key={x} cx={x} cy={y} r="1.8" fill="currentColor" />
      ))}
    </svg>
  );
}

/** The path of a small line, broken at gaps, and the values that stand alone between gaps. */
export function sparkPath(
  values: (number | null)[],
  width: number,
  height: number,
  min: number,
  max: number,
): { line: string; points: [number, number][] } {
  const inset = 2;
  const span = max - min || 1;
  const x = (i: number) => round(inset + ((width - 2 * inset) * i) / Math.max(1, values.length - 1));
  const y = (v: number) => round(height - inset - ((height - 2 * inset) * (v - min)) / span);
  const parts: string[] = [];
  const points: [number, number][] = [];
  let open = false;
  values.forEach((value, i) => {
    const v = gap(value);
    if (v === null) {
      open = false;
      return;
    }
    if (!open && gap(values[i + 1]) === null) points.push([x(i), y(v)]);
    else parts.push(`${open ? "L" : "M"}${x(i)} ${y(v)}`);
    open = true;
  });
  return { line: parts.join(""), points };
}

const round = (n: number) => Math.round(n * 10) / 10;
