import type { TimeRange } from "./types";

/** The lengths that the picker offers, in seconds. */
export const lengths = { "1h": 3600, "6h": 21_600, "24h": 86_400, "7d": 604_800, "28d": 2_419_200 } as const;

export type Last = keyof typeof lengths;

/** A range that moves with the clock, or a fixed one in seconds since 1970. */
export type RangeValue = { last: Last } | TimeRange;

export const lasts = Object.keys(lengths) as Last[];

/** The range of the URL's search parameters: `last`, or `from` and `to`. What is missing or invalid gives `otherwise`. */
export function parseRange(search: Record<string, unknown>, otherwise: RangeValue = { last: "6h" }): RangeValue {
  const from = seconds(search.from);
  const to = seconds(search.to);
  if (from !== undefined && to !== undefined && to > from) return { from, to };
  const last = lasts.find((l) => l === search.last);
  return last ? { last } : otherwise;
}

/** The search parameters of a range: what parseRange reads, and "" for those to remove. */
export function rangeSearch(value: RangeValue): { last: string; from: string; to: string } {
  return "last" in value
    ? { last: value.last, from: "", to: "" }
    : { last: "", from: String(value.from), to: String(value.to) };
}

/** The range in seconds since 1970, at `now`. */
export function resolveRange(value: RangeValue, now: number): TimeRange {
  if (!("last" in value)) return value;
  const to = Math.floor(now);
  return { from: to - lengths[value.last], to };
}

function seconds(value: unknown): number | undefined {
  const n = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof n === "number" && Number.isFinite(n) && n >= 0 && n < 1e11 ? Math.round(n) : undefined;
}

/** A moment as the value of a datetime-local field, in the browser's time zone. */
export function toField(at: number): string {
  const d = new Date(at * 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}`;
}

/** The moment of a datetime-local field, or undefined when it is empty. */
export function fromField(text: string): number | undefined {
  const at = new Date(text).getTime();
  return text === "" || Number.isNaN(at) ? undefined : Math.round(at / 1000);
}
