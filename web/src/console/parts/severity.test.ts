import { expect, test } from "vitest";
import { grouped, severityOf } from "./severity";

test("groups findings by code, missed shares first and notes last", () => {
  const items = ["share-uncertain", "weight-unreachable", "new-code", "cct-limit-clamps", "weight-unreachable"].map(
    (code, n) => ({ code, n }),
  );
  const groups = grouped(items);
  expect(groups.map((g) => [g.code, g.items.map((i) => i.n)])).toEqual([
    ["weight-unreachable", [1, 4]],
    ["new-code", [2]],
    ["cct-limit-clamps", [3]],
    ["share-uncertain", [0]],
  ]);
  expect(groups.map((g) => g.severity)).toEqual(["missed", "limited", "limited", "note"]);
});

test("takes an unknown code for a limit", () => {
  expect(severityOf("of-a-later-release")).toBe("limited");
});
