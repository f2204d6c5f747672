import { expect, test } from "vitest";
import type { Schemas } from "../../../api/client";
import { changedDevices, groupSettings } from "./settings";

const explained = (name: string, value: string, more: Partial<Schemas["Reason"]> = {}): Schemas["Explanation"] => ({
  kind: "port",
  name,
  devices: [`${name}:1`],
  note: "gold on SL 2",
  reasons: [{ field: "sl[2].timer", value, rule: "product-rule", formula: "f", tenant: "gold", ...more }],
});

test("joins devices that a plan sets alike, and counts clamped settings", () => {
  const groups = groupSettings([
    explained("h1", "28"),
    explained("h2", "30", { clamped: "below 1" }),
    explained("h3", "28"),
  ]);
  expect(groups.map((g) => [g.names, g.clamped, g.tenants])).toEqual([
    [["h1", "h3"], 0, ["gold"]],
    [["h2"], 1, ["gold"]],
  ]);
});

const plan = (ports: Record<string, number>, switches: Record<string, number>, plane = "ib") =>
  ({
    plane,
    cas: Object.entries(ports).map(([port, n]) => ({ port, settings: { ccti_limit: n } })),
    switches: Object.entries(switches).map(([node, n]) => ({ node, settings: { defaults: { threshold: n } } })),
  }) as unknown as Schemas["Plan"];

test("counts devices whose settings differ, also those that only one plan has", () => {
  const before = plan({ a: 1, b: 1, c: 1 }, { s: 1, t: 1 });
  const after = plan({ a: 1, b: 2, d: 1 }, { s: 1, t: 2 });
  expect(changedDevices(before, after)).toEqual({ ports: 3, switches: 1 });
  expect(changedDevices(undefined, after)).toEqual({ ports: 3, switches: 2 });
  expect(changedDevices(before, plan({}, {}, "roce"))).toBeUndefined();
});
