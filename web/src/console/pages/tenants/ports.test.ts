import { expect, test } from "vitest";
import { expandPorts, splitNames } from "./ports";

test("expands sets of names and keeps leading zeros", () => {
  expect(expandPorts(["host-[001-003,007]"])).toEqual(["host-001", "host-002", "host-003", "host-007"]);
  expect(expandPorts(["h[1-2]/P[1-2]"])).toEqual(["h1/P1", "h1/P2", "h2/P1", "h2/P2"]);
  expect(expandPorts(["a, b c", "a"])).toEqual(["a", "b", "c"]);
  expect(expandPorts([])).toEqual([]);
});

test("refuses sets that cannot be read or are too large", () => {
  for (const bad of ["h[1-", "h[3-1]", "h[]", "h[1-2000]", "h[1-99][1-99]", "h]1"])
    expect(expandPorts([bad]), bad).toBeUndefined();
});

test("splits outside of brackets alone", () => {
  expect(splitNames("a[1,2], b  c")).toEqual(["a[1,2]", "b", "c"]);
});
