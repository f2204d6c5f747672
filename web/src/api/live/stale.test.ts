import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { keys } from "../keys";
import { staleKeys } from "./stale";

const stale = (kind: string, subject = "x", rollout?: number) =>
  staleKeys({ fabric: "lab", kind, subject, ...(rollout ? { rollout } : {}) });

test("an event concerns its own part of the cache", () => {
  expect(stale("tenant.updated", "gold")).toContainEqual(keys.tenant("lab", "gold"));
  expect(stale("tenant.updated", "gold")).not.toContainEqual(keys.devices("lab"));
  expect(stale("rollout.progress", "plan", 3)).toContainEqual(keys.rollout("lab", 3));
  expect(stale("rollout.progress", "plan", 3)).not.toContainEqual(keys.plans("lab"));
  expect(stale("rollout.succeeded", "plan", 3)).toContainEqual(keys.shares("lab"));
  expect(stale("fabric.link-down", "guid")).toContainEqual(keys.map("lab"));
  expect(stale("policy.labelled", "4")).toContainEqual(keys.policy("lab", 4));
  expect(stale("tenant.token.created", "gold")).toContainEqual(keys.tokens());
});

test("an unknown kind concerns the whole fabric", () => {
  expect(stale("novelty.happened")).toContainEqual(keys.everything("lab"));
});

test("every kind in the service's code has a rule", () => {
  const code = execFileSync(
    "grep",
    [
      "-rhoE",
      "--include=*.go",
      "--exclude=*_test.go",
      '(Kind:|kind[A-Z][a-z]+ +=|event\\(ro,|decide\\(.*|steer\\(.*) "[a-z-]+\\.[a-z-]*"',
      "../service",
    ],
    { encoding: "utf8" },
  );
  const kinds = [...new Set([...code.matchAll(/"([a-z-]+\.[a-z-]*)"$/gm)].map((m) => m[1] as string))];
  expect(kinds.length).toBeGreaterThan(30);
  const unruled = kinds.filter(
    (k) =>
      !["fabric.created", "fabric.updated", "fabric.deleted", "fabric.managed", "fabric.released"].includes(k) &&
      stale(k).some((key) => key.length === 2 && key[0] === "fabric"),
  );
  expect(unruled).toEqual([]);
});
