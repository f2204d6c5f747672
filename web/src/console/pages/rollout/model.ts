import type { Schemas } from "../../../api/client";

export type Rollout = Schemas["Rollout"];
export type RolloutDevice = Schemas["RolloutDevice"];
export type Event = Schemas["Event"];

/** How far a rollout is on a device. Only a device whose settings were read back and are equal is verified. */
export type Progress = "verified" | "failed" | "back" | "writing" | "reading" | "waiting" | "unknown";

const progress: Record<string, Progress> = {
  "in-sync": "verified",
  failed: "failed",
  unsupported: "failed",
  "rolled-back": "back",
  applying: "writing",
  verifying: "reading",
  pending: "waiting",
};

export type Counts = Record<Progress, number> & { all: number };

/** Devices by progress. */
export function counted(devices: Pick<RolloutDevice, "state">[]): Counts {
  const out: Counts = { all: 0, verified: 0, failed: 0, back: 0, writing: 0, reading: 0, waiting: 0, unknown: 0 };
  for (const d of devices) {
    out.all++;
    out[progress[d.state] ?? "unknown"]++;
  }
  return out;
}

/** Receipts of a device by outcome, in the order of the contract. */
export function outcomesOf(
  d: Pick<RolloutDevice, "receipt">,
): [outcome: Schemas["FieldReceipt"]["outcome"], n: number][] {
  const order = ["acknowledged", "sent", "unchanged", "refused", "skipped"] as const;
  return order.flatMap((outcome) => {
    const n = (d.receipt ?? []).filter((r) => r.outcome === outcome).length;
    return n > 0 ? [[outcome, n] as [typeof outcome, number]] : [];
  });
}

/** `mixed`: devices of the wave are in different states, and it is not being written. */
export type WaveState = "waiting" | "not-reached" | "running" | "verified" | "failed" | "back" | "mixed";

/** A wave with its devices by progress. */
export type Wave = { number: number; canary: boolean; counts: Counts; state: WaveState };

/** The waves of a rollout, the first one first. `canaries` are the numbers of the canary waves, from 0. */
export function wavesOf(ro: Pick<Rollout, "state" | "waves" | "devices">, canaries: number[]): Wave[] {
  const byWave = new Map<number, RolloutDevice[]>();
  for (const d of ro.devices ?? []) {
    const n = d.wave ?? 0;
    byWave.set(n, [...(byWave.get(n) ?? []), d]);
  }
  const last = Math.max(ro.waves - 1, ...byWave.keys());
  return Array.from({ length: last + 1 }, (_, number) => {
    const counts = counted(byWave.get(number) ?? []);
    return { number, canary: canaries.includes(number), counts, state: waveState(counts, ro.state !== "running") };
  });
}

function waveState(c: Counts, ended: boolean): WaveState {
  if (c.failed > 0) return "failed";
  if (c.all > 0 && c.verified === c.all) return "verified";
  if (c.all > 0 && c.back === c.all) return "back";
  if (c.waiting === c.all) return ended ? "not-reached" : "waiting";
  if (ended) return "mixed";
  return c.writing + c.reading > 0 || (c.waiting > 0 && c.verified > 0) ? "running" : "mixed";
}

/** Numbers of the canary waves, from the event that started the rollout. */
export function canariesOf(events: Event[]): number[] {
  const data = events.find((e) => e.kind === "rollout.started")?.data as
    | { options?: { canary_waves?: number[] } }
    | undefined;
  return data?.options?.canary_waves ?? [];
}

/** What a rollout does at the moment, beyond its phase: requests of operators that it has not carried out yet. */
export type Situation =
  | "placing"
  | "pushing"
  | "pausing"
  | "paused"
  | "canceling"
  | "confirming"
  | "undoing"
  | "unplacing"
  | "succeeded"
  | "partial"
  | "failed"
  | "rolled-back"
  | "refused"
  | "canceled"
  | "interrupted";

export function situationOf(ro: Pick<Rollout, "state" | "phase" | "wish" | "devices">): Situation {
  if (ro.state !== "running") return ro.state;
  if (ro.wish === "pause") {
    const c = counted(ro.devices ?? []);
    return c.writing + c.reading > 0 ? "pausing" : "paused";
  }
  if (ro.phase === "undoing" || ro.phase === "unplacing") return ro.phase;
  if (ro.wish === "undo") return "undoing";
  if (ro.wish === "cancel") return "canceling";
  return ro.phase === "ended" ? "pushing" : ro.phase;
}

/** What kind of rollout it is, for its name in lists. */
export type Purpose = "release" | "baseline" | "repair" | "placement" | "plan";

export function purposeOf(ro: Pick<Rollout, "release" | "to" | "repair" | "stages">): Purpose {
  if (ro.release) return "release";
  if (ro.to) return "baseline";
  if (ro.repair) return "repair";
  return ro.stages.includes("settings") ? "plan" : "placement";
}

/** Seconds from the start of a rollout to its end; undefined while it runs. */
export const secondsOf = (ro: Pick<Rollout, "created_at" | "finished_at">): number | undefined =>
  ro.finished_at ? (Date.parse(ro.finished_at) - Date.parse(ro.created_at)) / 1000 : undefined;

/** What a health gate found. `unmeasured` is neither passed nor failed. */
export type GateResult = { event: Event; result: "passed" | "failed" | "unmeasured" };

/** The results of health gates among the events of a rollout. */
export function gatesOf(events: Event[]): GateResult[] {
  return events.flatMap((event): GateResult[] => {
    const ids = idsOf(event.said);
    if (ids.includes("result.gate") || ids.some((id) => failed.has(id))) return [{ event, result: "failed" as const }];
    if (event.kind !== "rollout.progress") return [];
    if (ids.some((id) => unmeasured.has(id))) return [{ event, result: "unmeasured" as const }];
    return ids.includes("gate.acts") ? [{ event, result: "passed" as const }] : [];
  });
}

const failed = new Set([
  "gate.not-acting",
  "gate.share-error",
  "gate.use",
  "gate.no-tenant",
  "gate.no-link",
  "gate.no-contended-link",
  "gate.unmeasured",
]);
const unmeasured = new Set(["gate.not-tested", "gate.incomplete"]);

/** The ids of a sentence and of the sentences in it, to the third level. */
function idsOf(said: unknown, depth = 3): string[] {
  if (typeof said !== "object" || said === null || depth === 0) return [];
  const { id, params } = said as { id?: unknown; params?: Record<string, unknown> };
  const inner = Object.values(params ?? {}).flatMap((p) => idsOf(p, depth - 1));
  return typeof id === "string" ? [id, ...inner] : inner;
}

/** The rollout whose plan was in force before this one; undefined when the list holds none. */
export function beforeOf(ro: Pick<Rollout, "id">, list: Rollout[]): Rollout | undefined {
  return list
    .filter((r) => r.id < ro.id && !r.repair && r.stages.includes("settings"))
    .filter((r) => r.state === "succeeded" || r.state === "partial")
    .sort((a, b) => b.id - a.id)[0];
}

/** The rollout that brought the plan before the plan in force: the latest one of another plan that took effect. */
export function planBefore(inForce: string, list: Rollout[]): Rollout | undefined {
  const since = list.filter((r) => r.plan === inForce).sort((a, b) => b.id - a.id);
  for (let r = since[0]; r; r = beforeOf(r, list)) if (r.plan !== inForce) return r;
  return undefined;
}
