/** A field of an object before and after a change. A side without the field has undefined. */
export type FieldChange = { path: string; before: string | undefined; after: string | undefined; changed: boolean };

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

/** A value as text: strings as they are, everything else as JSON. */
const valueText = (v: unknown): string => (typeof v === "string" ? v : JSON.stringify(v));

function flatten(value: unknown, path: string, out: Map<string, string>) {
  if (isObject(value) && Object.keys(value).length > 0)
    for (const [name, inner] of Object.entries(value)) flatten(inner, path ? `${path}.${name}` : name, out);
  else if (value !== undefined && value !== null) out.set(path, valueText(value));
}

/** Compares two values field by field, in the order of the first, then of the second. Lists are compared as a whole. */
export function fieldChanges(before: unknown, after: unknown): FieldChange[] {
  const [was, is] = [new Map<string, string>(), new Map<string, string>()];
  flatten(before, "", was);
  flatten(after, "", is);
  return [...new Set([...was.keys(), ...is.keys()])].map((path) => ({
    path,
    before: was.get(path),
    after: is.get(path),
    changed: was.get(path) !== is.get(path),
  }));
}
