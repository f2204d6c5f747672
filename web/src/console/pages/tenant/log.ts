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

/**
 * The latest entry that gave a field its value: one that changed it, or the creation of the tenant with it. `entries` are in the order of the
 * log, newest first; refused changes do not count.
 */
export function settingEntry<E extends { action: string; outcome: string; before?: unknown; after?: unknown }>(
  entries: E[],
  field: LogField,
): E | undefined {
  return entries.find(
    (e) =>
      e.outcome === "done" &&
      (logChanges(e.before, e.after).some((c) => c.field === field) ||
        (e.action === "tenant.created" && isObject(e.after) && fieldOf(e.after, field) !== undefined)),
  );
}

const fieldOf = (o: Record<string, unknown>, field: LogField) => o[field] ?? o[`${field}_bps`];

const isObject = (x: unknown): x is Record<string, unknown> => typeof x === "object" && x !== null && !Array.isArray(x);

/** The page that says who made a change marked in the chart, and when. */
export function markHref(fabric: string, tenant: string, e: { kind: string; rollout?: number }): string | undefined {
  const base = `/console/f/${encodeURIComponent(fabric)}`;
  if (e.kind.startsWith("tenant.")) return `${base}/tenants/${encodeURIComponent(tenant)}?tab=log`;
  return e.rollout === undefined ? undefined : `${base}/rollouts/${e.rollout}`;
}
