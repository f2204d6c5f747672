/** A field of an object before and after a change. A side without the field has undefined. */
export type FieldChange = { path: string; before: string | undefined; after: string | undefined; changed: boolean };

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

/** The formats of what the log stores in units of the service: weights in thousandths, rates in bit/s. */
export type Quantities = { weight: (n: number) => string | undefined; rate: (bps: number) => string | undefined };

const rates = new Set(["guarantee", "cap", "demand", "claimed"]);

/** A value with weights and rates as the pages show them; `name` is that of its field. */
function worded(v: unknown, name: string, q: Quantities): unknown {
  if (Array.isArray(v)) return v.map((x) => worded(x, name, q));
  if (isObject(v)) return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, worded(x, k, q)]));
  if (typeof v !== "number") return v;
  if (name === "weight") return q.weight(v / 1000) ?? v;
  return (v !== 0 && (rates.has(name) || name.endsWith("_bps")) && q.rate(v)) || v;
}

/** A value as text: strings as they are, everything else as JSON. */
const valueText = (v: unknown): string => (typeof v === "string" ? v : JSON.stringify(v));

function flatten(value: unknown, path: string, out: Map<string, string>, q: Quantities) {
  if (isObject(value) && Object.keys(value).length > 0)
    for (const [name, inner] of Object.entries(value)) flatten(inner, path ? `${path}.${name}` : name, out, q);
  else if (value !== undefined && value !== null)
    out.set(path, valueText(worded(value, path.split(".").at(-1) ?? "", q)));
}

/** Compares two values field by field, in the order of the first, then of the second. Lists are compared as a whole. */
export function fieldChanges(before: unknown, after: unknown, q: Quantities): FieldChange[] {
  const [was, is] = [new Map<string, string>(), new Map<string, string>()];
  flatten(before, "", was, q);
  flatten(after, "", is, q);
  return [...new Set([...was.keys(), ...is.keys()])].map((path) => ({
    path,
    before: was.get(path),
    after: is.get(path),
    changed: was.get(path) !== is.get(path),
  }));
}
