import { expect, test } from "vitest";
import { mixed } from "./colours";

test("ink on a ground mixes long and shortened colours", () => {
  expect(mixed("#000000", "#ffffff", 0.15)).toBe("#d9d9d9");
  expect(mixed("#000", "#fff", 0.15)).toBe("#d9d9d9");
  expect(mixed("oklch(0 0 0)", "#808080", 0.5)).toBe("#808080");
});
