import { expect, test } from "vitest";
import { sinceChange } from "./sinceChange";

test("figures of the last hour say since when they are, where the entitlement changed in it", () => {
  const at = "2026-11-21T10:00:00Z";
  expect(sinceChange({ at, hour: { since: "2026-11-21T09:48:00.000Z" } })).toBe(720);
  expect(sinceChange({ at, hour: {} })).toBeUndefined();
});
