import type { Schemas } from "../../../api/client";
import type { Tenant } from "../tenants/queries";

/** What an edit of a tenant may change. Rates are in bit/s. */
export type Declared = {
  weight: number;
  guarantee_bps: number;
  cap_bps: number;
  pkey: string;
  classes: Schemas["Class"][];
  attachments: Schemas["Attachment"][];
};

export type FieldName = keyof Declared;

export const fieldNames: FieldName[] = ["weight", "guarantee_bps", "cap_bps", "pkey", "classes", "attachments"];

/** The editable part of a tenant. */
export function declaredOf(t: Tenant): Declared {
  return {
    weight: t.weight,
    guarantee_bps: t.guarantee_bps,
    cap_bps: t.cap_bps,
    pkey: t.pkey,
    classes: t.classes,
    attachments: t.attachments,
  };
}

/** A value in one form, whatever the order of its items: equal texts mean equal declarations. Names of ports are no part of it. */
function canonical(field: FieldName, d: Declared): string {
  if (field === "classes") return JSON.stringify(d.classes.map((c) => [c.name, c.weight]).sort());
  if (field === "attachments") return JSON.stringify(d.attachments.map((a) => [a.port, a.sl ?? null]).sort());
  return JSON.stringify(d[field]);
}

/** The fields in which two declarations differ. */
export const changedFields = (a: Declared, b: Declared): FieldName[] =>
  fieldNames.filter((f) => canonical(f, a) !== canonical(f, b));

export type Side = "mine" | "theirs";

/** A field that differs between the two versions. `choice` is set where only one side changed it; a clash needs a choice. */
export type Conflict = { field: FieldName; clash: boolean; choice: Side | undefined };

/** Compares what both made of the original. Fields that both left, or changed alike, need no choice. */
export function conflictsOf(original: Declared, mine: Declared, theirs: Declared): Conflict[] {
  const [byMe, byThem] = [changedFields(original, mine), changedFields(original, theirs)];
  return changedFields(mine, theirs).map((field) => {
    const clash = byMe.includes(field) && byThem.includes(field);
    return { field, clash, choice: clash ? undefined : byMe.includes(field) ? "mine" : "theirs" };
  });
}

/** The declaration by the choices; fields without one are theirs. */
export function merged(mine: Declared, theirs: Declared, choices: Partial<Record<FieldName, Side>>): Declared {
  const out = { ...theirs };
  for (const field of fieldNames) if (choices[field] === "mine") Object.assign(out, { [field]: mine[field] });
  return out;
}

/** The body that replaces the tenant. */
export function updateOf(d: Declared): Schemas["TenantUpdate"] {
  return { ...d, attachments: d.attachments.map(({ port, sl }) => (sl === undefined ? { port } : { port, sl })) };
}

/** The changes that a what-if can predict, as its edits. */
export function editsOf(tenant: string, before: Declared, after: Declared): string[] {
  return changedFields(before, after).flatMap((field) => {
    if (field === "weight") return [`weight:${tenant}=${after.weight}`];
    if (field === "guarantee_bps") return [`guarantee:${tenant}=${after.guarantee_bps}bit/s`];
    if (field === "cap_bps") return [`cap:${tenant}=${after.cap_bps}bit/s`];
    return [];
  });
}
