import { expect, test } from "vitest";
import { byKind, deviceOf, rangeOf, settingChanges, totals } from "./difference";
import { certain, relativeGain, shareRows } from "./shares";

const share = (tenant: string, bps: number, bound = 0.02) => ({
  tenant,
  weight: 1,
  qps: 1,
  entitled_bps: bps,
  predicted_bps: bps,
  predicted_error: 0,
  bound,
});
const change = (kind: string, count: number, names: string[], tenant?: string) => ({
  kind,
  field: "timer",
  before: "1",
  after: "2",
  count,
  names,
  ...(tenant ? { tenant } : {}),
});

test("counts settings, devices and tenants of a difference", () => {
  const d = {
    from: "a",
    to: "b",
    tenants: [
      {
        tenant: "blue",
        before: share("blue", 4e9),
        after: share("blue", 6e9),
        settings: [change("port", 2, ["h1/P1", "h2/P1"], "blue")],
      },
      { tenant: "gold", before: share("gold", 6e9), after: share("gold", 4e9) },
      { tenant: "new", after: share("new", 1e9) },
    ],
    settings: [change("port", 1, ["h1/P1"]), change("switch port", 2, ["leaf1/P1", "leaf1/P2"])],
    devices: [{ kind: "port", added: { count: 1, names: ["h3/P1"] } }],
  };
  expect(totals(d)).toEqual({
    settings: 5,
    devices: 4,
    exact: true,
    gains: ["blue"],
    loses: ["gold"],
    comes: ["new"],
    goes: [],
    empty: false,
  });
  expect(settingChanges(d).map((c) => c.tenant)).toEqual(["blue", undefined, undefined]);
  expect(byKind(settingChanges(d)).map(([kind, list]) => [kind, list.length])).toEqual([
    ["port", 2],
    ["switch port", 1],
  ]);
});

test("knows a lower bound of the devices when the names are cut", () => {
  const d = { from: "a", to: "b", settings: [change("port", 14, ["h1/P1", "h2/P1"])] };
  expect(totals(d)).toMatchObject({ settings: 14, devices: 14, exact: false });
});

test("knows an empty difference", () => {
  expect(totals({ from: "a", to: "a" })).toMatchObject({ settings: 0, devices: 0, empty: true });
});

test("finds the device of a place", () => {
  expect(deviceOf("queue", "tor1/P7 queue 3")).toBe("tor1");
  expect(deviceOf("switch port", "leaf1/P12")).toBe("leaf1");
  expect(deviceOf("port", "host-001/P1")).toBe("host-001/P1");
  expect(deviceOf("link", "leaf1/P1 -> h1/P1")).toBeUndefined();
});

test("reads ranges of values", () => {
  expect(rangeOf("28.7 to 916.5")).toEqual({ low: "28.7", high: "916.5" });
  expect(rangeOf("128 entries down to 1/267.75 of line rate")).toBeUndefined();
});

test("orders shares by their change, and says whether it exceeds the error bounds", () => {
  const rows = shareRows(
    [share("a", 10e9), share("b", 52e9), share("c", 1e9)],
    [share("a", 10.1e9), share("b", 40e9), share("d", 2e9)],
  );
  expect(rows.map((r) => r.tenant)).toEqual(["b", "d", "c", "a"]);
  expect(rows.map(certain)).toEqual([true, true, true, false]);
  expect(rows.map(relativeGain)[0]).toBeCloseTo(0.3);
  expect(rows.map(relativeGain)[2]).toBeUndefined();
  expect(shareRows([share("z", 1), share("y", 2)]).map((r) => r.tenant)).toEqual(["y", "z"]);
});
