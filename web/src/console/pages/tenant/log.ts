/** Fields of a tenant as the audit log stores them: weights in thousandths, rates in bit/s. */
const fields = ["weight", "guarantee", "cap", "pkey", "classes", "attachments"] as const;

export type LogField = (typeof fields)[number];

/** The fields in which an entry's object changed; nothing for an object that was created or deleted. */
export function logChanges(before: unknown, after: unknown): { field: LogField; before: unknown; after: unknown }[] {
  if (!isObject(before) || !isObject(after)) return [];
  return fields.flatMap((field) => {
    const [a, b] = [fieldOf(before, field), fieldOf(after, field)];
    return JSON.stringify(a) === JSON.stringify(b) ? [] : [{ field, before: a, after: b }];
  });
}

const fieldOf = (o: Record<string, unknown>, field: LogField) => o[field] ?? o[`${field}_bps`];

const isObject = (x: unknown): x is Record<string, unknown> => typeof x === "object" && x !== null && !Array.isArray(x);
