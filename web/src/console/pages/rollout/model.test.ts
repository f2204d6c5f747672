import { expect, test } from "vitest";
import type { Schemas } from "../../../api/client";
import { beforeOf, canariesOf, counted, gatesOf, outcomesOf, planBefore, situationOf, wavesOf } from "./model";

type Device = Schemas["RolloutDevice"];
const device = (name: string, state: Device["state"], wave = 0, kind: Device["kind"] = "ca"): Device => ({
  id: `0x1:${name}`,
  name,
  kind,
  state,
  wave,
  updated_at: "2026-11-27T10:00:00Z",
});

test("counts only devices that were read back as verified", () => {
  const c = counted([
    device("a", "in-sync"),
    device("b", "verifying"),
    device("c", "applying"),
    device("d", "pending"),
  ]);
  expect(c).toMatchObject({ all: 4, verified: 1, reading: 1, writing: 1, waiting: 1, failed: 0 });
  expect(counted([device("a", "a-later-state")])).toMatchObject({ verified: 0, unknown: 1 });
});

test("counts receipts by outcome", () => {
  const receipt = (["unchanged", "acknowledged", "acknowledged"] as const).map((outcome, i) => ({
    field: `f${i}`,
    outcome,
  }));
  expect(outcomesOf({ receipt })).toEqual([
    ["acknowledged", 2],
    ["unchanged", 1],
  ]);
  expect(outcomesOf({})).toEqual([]);
});

test("a wave is verified when all of its devices are", () => {
  const devices = [
    device("a", "in-sync", 0),
    device("b", "in-sync", 1),
    device("c", "verifying", 1),
    device("d", "failed", 2),
    device("e", "in-sync", 2),
    device("s", "pending", 3, "switch"),
    device("t", "rolled-back", 4),
  ];
  const waves = wavesOf({ state: "running", waves: 6, devices }, [0, 3]);
  expect(waves.map((w) => w.state)).toEqual(["verified", "running", "failed", "waiting", "back", "waiting"]);
  expect(waves.map((w) => w.canary)).toEqual([true, false, false, true, false, false]);
  expect(wavesOf({ state: "canceled", waves: 6, devices }, []).map((w) => w.state)).toEqual([
    ...["verified", "mixed", "failed", "not-reached", "back", "not-reached"],
  ]);
});

test("a pause is in effect when no device is being written", () => {
  const base = { state: "running", phase: "pushing", wish: "pause" } as const;
  expect(situationOf({ ...base, devices: [device("a", "applying")] })).toBe("pausing");
  expect(situationOf({ ...base, devices: [device("a", "in-sync"), device("b", "pending")] })).toBe("paused");
  expect(situationOf({ ...base, wish: "undo" })).toBe("undoing");
  expect(situationOf({ ...base, wish: "run", phase: "confirming" })).toBe("confirming");
  expect(situationOf({ ...base, phase: "undoing" })).toBe("paused");
  expect(situationOf({ ...base, state: "canceled" })).toBe("canceled");
});

test("reads canaries and gates from the events", () => {
  const event = (kind: string, said: Schemas["Event"]["said"], data?: unknown): Schemas["Event"] => ({
    id: 1,
    at: "",
    fabric: "lab",
    actor: "system",
    kind,
    subject: "",
    message: "",
    said,
    data,
  });
  const events = [
    event("rollout.started", { id: "event.rollout-started" }, { options: { canary_waves: [0, 4] } }),
    event("rollout.progress", { id: "event.wave", params: { n: 1 } }),
    event("rollout.progress", { id: "gate.acts" }),
    event("rollout.progress", {
      id: "joined",
      params: { first: { id: "gate.acts" }, second: { id: "gate.incomplete" } },
    }),
    event("rollout.rolling-back", {
      id: "event.rolling-back",
      params: { reason: { id: "result.gate", params: { reason: { id: "gate.share-error" } } } },
    }),
    event("rollout.succeeded", { id: "event.rollout-ended", params: { result: { id: "gate.acts" } } }),
  ];
  expect(canariesOf(events)).toEqual([0, 4]);
  expect(gatesOf(events).map((g) => g.result)).toEqual(["passed", "unmeasured", "failed"]);
});

test("finds the plan before the plan in force, over rollouts of the same plan again", () => {
  const ro = (id: number, plan: string, state: Schemas["RolloutState"] = "succeeded") =>
    ({ id, plan, state, stages: ["settings"] }) as Schemas["Rollout"];
  const list = [ro(5, "b"), ro(4, "b"), ro(3, "c", "failed"), ro(2, "a"), ro(1, "b")];
  expect(planBefore("b", list)).toMatchObject({ id: 2, plan: "a" });
  expect(planBefore("b", [ro(1, "b")])).toBeUndefined();
  expect(planBefore("b", [])).toBeUndefined();
});

test("finds the rollout before, without repairs and failures", () => {
  const ro = (id: number, state: Schemas["RolloutState"], more = {}) =>
    ({ id, state, stages: ["settings"], ...more }) as Schemas["Rollout"];
  const list = [ro(6, "succeeded"), ro(5, "rolled-back"), ro(4, "succeeded", { repair: true }), ro(3, "succeeded")];
  expect(beforeOf({ id: 6 }, list)?.id).toBe(3);
  expect(beforeOf({ id: 3 }, list)).toBeUndefined();
});
