/** A value of a field as text: rates in bit/s by `rate`, everything else as in requests; undefined where there is none. */
export function fieldText(field: string, value: unknown, rate: (bps: number) => string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number") return field.endsWith("_bps") ? rate(value) : String(value);
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((v) => typeof v !== "object")) return value.join(", ");
  return JSON.stringify(value);
}

/** The revision before another one, by the list of revisions, newest first; 0 where there is none. */
export function before(revisions: number[], revision: number): number {
  return Math.max(0, ...revisions.filter((r) => r < revision));
}

/** Two revisions to compare from what is ticked: the newer one and the older one. A third tick replaces the first. */
export function pairOf(ticked: Iterable<string>): { revision: string; against: string } | undefined {
  const list = [...ticked]
    .slice(-2)
    .map(Number)
    .sort((a, b) => b - a);
  return list.length === 2 ? { revision: String(list[0]), against: String(list[1]) } : undefined;
}
