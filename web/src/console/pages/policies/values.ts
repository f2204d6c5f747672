/** Rates of which 0 means none. */
const limits = ["guarantee_bps", "cap_bps"];

/** A value of a field as text: rates in bit/s by `rate`, everything else as in requests; undefined where there is none. */
export function fieldText(field: string, value: unknown, rate: (bps: number) => string): string | undefined {
  if (value === undefined || value === null || (value === 0 && limits.includes(field))) return undefined;
  if (typeof value === "number") return field.endsWith("_bps") ? rate(value) : String(value);
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(itemText).join(", ");
  return JSON.stringify(value);
}

/** An item of a list: an attachment by its port, a class by its name and weight, anything else as in requests. */
function itemText(item: unknown): string {
  if (typeof item !== "object" || item === null) return String(item);
  const x = item as { port?: string; sl?: number; name?: string; weight?: number };
  if (x.port) return `${x.name ?? x.port}${x.sl === undefined ? "" : ` (SL ${x.sl})`}`;
  if (x.name && x.weight !== undefined && Object.keys(x).length === 2) return `${x.name} = ${x.weight}`;
  return JSON.stringify(item);
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
