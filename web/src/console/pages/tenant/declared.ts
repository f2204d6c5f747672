import { type Declared, ownOf } from "../tenants/changes";

export type FieldName = keyof Declared;

export const fieldNames: FieldName[] = ["weight", "guarantee_bps", "cap_bps", "pkey", "classes", "attachments"];

/** A value as text that does not depend on the order of its items. Names of ports are no part of it. */
function canonical(field: FieldName, d: Declared): string {
  if (field === "classes") return JSON.stringify(d.classes.map((c) => [c.name, c.weight]).sort());
  if (field === "attachments")
    return JSON.stringify(
      ownOf(d.attachments)
        .map((a) => [a.port, a.sl ?? null])
        .sort(),
    );
  return JSON.stringify(d[field]);
}

/** The fields in which two declarations differ. */
export const changedFields = (a: Declared, b: Declared): FieldName[] =>
  fieldNames.filter((f) => canonical(f, a) !== canonical(f, b));

/** The changes that a what-if can predict, as its edits. */
export function editsOf(tenant: string, before: Declared, after: Declared): string[] {
  return changedFields(before, after).flatMap((field) => {
    if (field === "weight") return [`weight:${tenant}=${after.weight}`];
    if (field === "guarantee_bps") return [`guarantee:${tenant}=${after.guarantee_bps}bit/s`];
    if (field === "cap_bps") return [`cap:${tenant}=${after.cap_bps}bit/s`];
    return [];
  });
}
