import { expect, test } from "vitest";
import { byCap } from "./byCap";

test("a cap determines the entitlement that equals it", () => {
  expect(byCap(10e9, 10e9)).toBe(true);
  expect(byCap(10e9, 10_000_000_001)).toBe(true);
  expect(byCap(10e9, 9.9e9)).toBe(false);
  expect(byCap(0, 0)).toBe(false);
  expect(byCap(undefined, 1e9)).toBe(false);
  expect(byCap(10e9, undefined)).toBe(false);
});
