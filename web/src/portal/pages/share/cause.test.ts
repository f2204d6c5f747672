import { expect, test } from "vitest";
import type { Schemas } from "../../../api/client";
import { causeOf, rose } from "./cause";

const now = (more: Partial<Schemas["TenantNow"]>): Schemas["TenantNow"] => ({
  fabric: "lab",
  tenant: "red",
  at: "2026-11-21T10:00:00Z",
  series: "read",
  objective: { bound: 0.95, target: 0.99 },
  hour: {},
  period: {},
  entitled_bps: 100,
  ...more,
});

test("a contending tenant is below its share under the bound, or when its bad seconds just rose", () => {
  expect(causeOf(now({ state: "contending", delivered_bps: 95 }))).toBe("within");
  expect(causeOf(now({ state: "contending", delivered_bps: 94 }))).toBe("below");
  expect(causeOf(now({ state: "contending", delivered_bps: 120 }), true)).toBe("below");
});

test("what limits a tenant that does not contend is never a fault of the platform", () => {
  for (const state of ["idle", "cap", "path-down", "own-port", "other-link", "demand", "not-measured"] as const)
    expect(causeOf(now({ state, delivered_bps: 1 }), true)).toBe(state);
});

test("without a measurement the state of the series says why", () => {
  expect(causeOf(now({}))).toBe("no-measurement");
  expect(causeOf(now({ series: "away" }))).toBe("series-away");
  expect(causeOf(now({ series: "off" }))).toBe("series-off");
});

test("a counter rises between its last two known values", () => {
  expect(rose([1, 5, null, 5])).toBe(false);
  expect(rose([1, 5, null, 6, null])).toBe(true);
  expect(rose([6, 0])).toBe(false);
  expect(rose([null, 3])).toBe(false);
});
