import { expect, test } from "vitest";
import { markHref, settingEntry } from "./log";

const entry = (seq: number, before: unknown, after: unknown, more = {}) => ({
  seq,
  action: "tenant.updated",
  outcome: "done",
  before,
  after,
  ...more,
});

test("finds the entry that set a cap: the latest change of it, or the creation", () => {
  const created = entry(1, undefined, { weight: 1000, cap: 5e9 }, { action: "tenant.created" });
  const capped = entry(3, { weight: 1000, cap: 5e9 }, { weight: 1000, cap: 10e9 });
  const weighed = entry(4, { weight: 1000, cap: 10e9 }, { weight: 500, cap: 10e9 });
  const refused = entry(5, { weight: 500, cap: 10e9 }, { weight: 500 }, { outcome: "refused" });
  expect(settingEntry([refused, weighed, capped, created], "cap")?.seq).toBe(3);
  expect(settingEntry([created], "cap")?.seq).toBe(1);
  expect(settingEntry([weighed], "cap")).toBeUndefined();
});

test("a mark of a tenant's change leads to its change log, one of a rollout to the rollout", () => {
  expect(markHref("lab", "gold", { kind: "tenant.updated" })).toBe("/console/f/lab/tenants/gold?tab=log");
  expect(markHref("lab", "gold", { kind: "rollout.started", rollout: 7 })).toBe("/console/f/lab/rollouts/7");
  expect(markHref("lab", "gold", { kind: "policy.restored" })).toBeUndefined();
});
