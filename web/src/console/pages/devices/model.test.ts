import { expect, test } from "vitest";
import { byNeed, byState, type Device, driftedOf, later, latest, oldest, repairable } from "./model";

const device = (name: string, state: Device["state"], more: Partial<Device> = {}): Device => ({
  id: `0x1:${name}`,
  name,
  kind: "ca",
  state,
  differences: [],
  ...more,
});

test("lists what needs a person first", () => {
  const list = [device("b", "in-sync"), device("h10", "drifted"), device("h2", "drifted"), device("c", "unreachable")];
  expect(byState(list)).toEqual([
    ["drifted", 2],
    ["unreachable", 1],
    ["in-sync", 1],
  ]);
  expect([...list].sort(byNeed).map((d) => d.name)).toEqual(["h2", "h10", "c", "b"]);
});

test("a quarantined device has drifted only while its reading differs", () => {
  const differences = [{ field: "sl[1].timer", desired: "1", observed: "0" }];
  const list = [device("a", "quarantined"), device("b", "quarantined", { differences }), device("c", "drifted")];
  expect(driftedOf([...list, device("d", "in-sync")]).map((d) => d.name)).toEqual(["c", "b"]);
});

test("shows the later reading, and keeps policy and quarantine", () => {
  const stored = device("a", "in-sync", { read_at: "2026-11-27T10:00:00Z", policy: "freeze", incidents: 2 });
  const read = device("a", "drifted", {
    read_at: "2026-11-27T10:05:00Z",
    differences: [{ field: "sl[1].timer", desired: "28", observed: "0" }],
  });
  expect(later(stored, read)).toMatchObject({
    state: "drifted",
    policy: "freeze",
    incidents: 2,
    read_at: read.read_at,
  });
  expect(later({ ...stored, read_at: "2026-11-27T10:06:00Z" }, read).state).toBe("in-sync");
  expect(later({ ...stored, state: "quarantined" }, read)).toMatchObject({ state: "quarantined", differences: [{}] });
  expect(latest([stored], undefined)).toEqual([stored]);
  expect(latest([stored, device("z", "unknown")], [read]).map((d) => d.state)).toEqual(["drifted", "unknown"]);
});

test("knows the oldest reading, and what a repair writes", () => {
  expect(oldest([device("a", "unknown")])).toBeUndefined();
  expect(
    oldest([
      device("a", "in-sync", { read_at: "2026-11-27T10:05:00Z" }),
      device("b", "in-sync", { read_at: "2026-11-27T10:00:00Z" }),
    ]),
  ).toBe("2026-11-27T10:00:00Z");
  const differences = [
    { field: "sl[1].timer", desired: "1", observed: "0" },
    { field: "rp_enable[3]", desired: "1", observed: "0", prerequisite: "rp", repairable: false },
    { field: "np_enable[3]", desired: "1", observed: "0", prerequisite: "np", repairable: true },
  ];
  expect(repairable(device("a", "drifted", { differences })).map((d) => d.field)).toEqual([
    "sl[1].timer",
    "np_enable[3]",
  ]);
});
