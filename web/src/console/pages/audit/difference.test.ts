import { expect, test } from "vitest";
import { exactRate, weight } from "../../../format/units";
import { fieldChanges } from "./difference";

const q = { weight: (n: number) => weight(n, "en"), rate: (bps: number) => exactRate(bps, "en") };

test("weights are shown as weights, and rates with their unit, also in lists", () => {
  const texts = fieldChanges(
    { weight: 1500, guarantee: 0, classes: [{ name: "x", weight: 2500 }] },
    { weight: 500, guarantee: 0, cap: 40_404_000_000, demand_bps: 1_000_000 },
    q,
  ).map((c) => [c.path, c.before, c.after]);
  expect(texts).toEqual([
    ["weight", "1.5", "0.5"],
    ["guarantee", "0", "0"],
    ["classes", '[{"name":"x","weight":"2.5"}]', undefined],
    ["cap", undefined, "40.404 Gbit/s"],
    ["demand_bps", undefined, "1 Mbit/s"],
  ]);
});

test("a change shows each field on both sides", () => {
  expect(
    fieldChanges(
      { weight: 3000, cap: { bps: 0 }, ports: ["a"] },
      { weight: 5000, cap: { bps: 0 }, ports: ["a"], pkey: "0x8001" },
      q,
    ),
  ).toEqual([
    { path: "weight", before: "3", after: "5", changed: true },
    { path: "cap.bps", before: "0", after: "0", changed: false },
    { path: "ports", before: '["a"]', after: '["a"]', changed: false },
    { path: "pkey", before: undefined, after: "0x8001", changed: true },
  ]);
});

test("a creation has no side before, and a value that is no object has one field", () => {
  expect(fieldChanges(undefined, { name: "gold" }, q)).toEqual([
    { path: "name", before: undefined, after: "gold", changed: true },
  ]);
  expect(fieldChanges("a", "b", q)).toEqual([{ path: "", before: "a", after: "b", changed: true }]);
});
