import type { Schemas } from "../../api/client";

type Full = Schemas["PredictedShare"];

/** A predicted share. An admission answers without queue pairs and predicted error. */
export type PredictedShare = Omit<Full, "qps" | "predicted_error"> & Partial<Full>;

/** What a packet simulation of a plan measured for a tenant. */
type SimulatedShare = { tenant: string; delivered_bps: number; share_error: number; within_bound: boolean };

/** The result of a simulation of a plan (field `simulation` of `fairlane compile --simulate --json`). */
export type Simulated = { tenants: SimulatedShare[]; seed: number; simulated_s: number; max_share_error: number };

/** A tenant in one plan or in two, with its simulated share where there is one. */
export type ShareRow = {
  tenant: string;
  before?: PredictedShare;
  after?: PredictedShare;
  simulated?: SimulatedShare;
};

/** Predicted rate of a tenant in bit/s after minus before; a tenant that only one plan has counts as 0 in the other. */
export const gain = (r: ShareRow): number => (r.after?.predicted_bps ?? 0) - (r.before?.predicted_bps ?? 0);

/** Change of the rate as a part of the rate before; undefined for a new tenant. */
export const relativeGain = (r: ShareRow): number | undefined =>
  r.before && r.before.predicted_bps > 0 ? gain(r) / r.before.predicted_bps : undefined;

/** Tenants of both plans, those whose rate changes most first; without a plan before, by name. `simulated` is of the later plan. */
export function shareRows(after: PredictedShare[], before?: PredictedShare[], simulated?: Simulated): ShareRow[] {
  const old = new Map((before ?? []).map((s) => [s.tenant, s]));
  const measured = new Map(simulated?.tenants.map((s) => [s.tenant, s]));
  const rows: ShareRow[] = after.map((s) => ({
    tenant: s.tenant,
    after: s,
    before: old.get(s.tenant),
    simulated: measured.get(s.tenant),
  }));
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
