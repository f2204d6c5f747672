import { expect, test } from "vitest";
import { fieldChanges } from "./difference";

test("a change shows each field on both sides", () => {
  expect(
    fieldChanges(
      { weight: 3, cap: { bps: 0 }, ports: ["a"] },
      { weight: 5, cap: { bps: 0 }, ports: ["a"], pkey: "0x8001" },
    ),
  ).toEqual([
    { path: "weight", before: "3", after: "5", changed: true },
    { path: "cap.bps", before: "0", after: "0", changed: false },
    { path: "ports", before: '["a"]', after: '["a"]', changed: false },
    { path: "pkey", before: undefined, after: "0x8001", changed: true },
  ]);
});

test("a creation has no side before, and a value that is no object has one field", () => {
  expect(fieldChanges(undefined, { name: "gold" })).toEqual([
    { path: "name", before: undefined, after: "gold", changed: true },
  ]);
  expect(fieldChanges("a", "b")).toEqual([{ path: "", before: "a", after: "b", changed: true }]);
});
