import type { Schemas } from "../../api/client";

type Full = Schemas["PredictedShare"];

/** A predicted share. An admission answers without queue pairs and predicted error. */
export type PredictedShare = Omit<Full, "qps" | "predicted_error"> & Partial<Full>;

/** A tenant in one plan or in two. */
export type ShareRow = { tenant: string; before?: PredictedShare; after?: PredictedShare };

/** Predicted rate of a tenant in bit/s after minus before; a tenant that only one plan has counts as 0 in the other. */
export const gain = (r: ShareRow): number => (r.after?.predicted_bps ?? 0) - (r.before?.predicted_bps ?? 0);

/** Change of the rate as a part of the rate before; undefined for a new tenant. */
export const relativeGain = (r: ShareRow): number | undefined =>
  r.before && r.before.predicted_bps > 0 ? gain(r) / r.before.predicted_bps : undefined;

/** Tenants of both plans, those whose rate changes most first; without a plan before, by name. */
export function shareRows(after: PredictedShare[], before?: PredictedShare[]): ShareRow[] {
  const old = new Map((before ?? []).map((s) => [s.tenant, s]));
  const rows: ShareRow[] = after.map((s) => ({ tenant: s.tenant, after: s, before: old.get(s.tenant) }));
  const kept = new Set(after.map((s) => s.tenant));
  for (const s of before ?? []) if (!kept.has(s.tenant)) rows.push({ tenant: s.tenant, before: s });
  if (!before) return rows.sort((a, b) => a.tenant.localeCompare(b.tenant));
  return rows.sort((a, b) => Math.abs(gain(b)) - Math.abs(gain(a)) || a.tenant.localeCompare(b.tenant));
}

/** Whether the change of a rate is larger than both predictions are uncertain about. */
export function certain(r: ShareRow): boolean {
  const doubt = (s?: PredictedShare) => (s ? s.predicted_bps * s.bound : 0);
  return Math.abs(gain(r)) > Math.max(doubt(r.before), doubt(r.after));
}
