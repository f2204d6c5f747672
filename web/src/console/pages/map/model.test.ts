import { expect, test } from "vitest";
import { moved, stepOf } from "./heat";
import { byWorst, edgeEnds, edgeId, type FabricMap, filtered, joins, type Meeting, ofLink } from "./model";
import { drawnIn, drawnPath } from "./useDrawing";

const meeting = (link: string, use: number, ...tenants: Meeting["tenants"]): Meeting => ({
  link,
  use,
  tenants,
  more: 0,
});

const map = {
  groups: [
    { id: "hosts:1", kind: "host", tier: 0, name: "leaf1", switches: 0, hosts: 4, state: "ok", more: true },
    { id: "switch:1", kind: "switch", tier: 1, name: "leaf1", switches: 1, hosts: 0, state: "contended", more: false },
    { id: "switch:2", kind: "switch", tier: 2, name: "spine1", switches: 1, hosts: 0, state: "ok", more: false },
  ],
  edges: [
    { a: "hosts:1", b: "switch:1", links: 4, capacity_bps: 4, contended: 1, down: 0 },
    { a: "switch:1", b: "switch:2", links: 1, capacity_bps: 1, contended: 0, down: 0 },
  ],
  tenants_meeting: [{ ...meeting("leaf1/P1 -> h1/P1", 0.99), a: "switch:1", b: "hosts:1" }],
} as unknown as FabricMap;

test("filters hide groups, and edges with them", () => {
  const all = { text: "", contended: false, hideHosts: false };
  const ids = (f: Partial<typeof all>) => filtered(map, { ...all, ...f }).groups.map((g) => g.id);
  expect(ids({})).toHaveLength(3);
  expect(ids({ hideHosts: true })).toEqual(["switch:1", "switch:2"]);
  expect(ids({ contended: true })).toEqual(["hosts:1", "switch:1"]);
  expect(ids({ text: "SPINE" })).toEqual(["switch:2"]);
  expect(filtered(map, { ...all, contended: true }).edges).toHaveLength(1);
  expect(filtered(map, { ...all, text: "spine" }).edges).toHaveLength(0);
});

test("links are in the order of their worst tenant", () => {
  const tenant = (delivered: number) => ({
    tenant: "red",
    entitled_bps: 100,
    delivered_bps: delivered,
    state: "contending" as const,
  });
  const list = [
    meeting("idle", 0.5, { tenant: "red", state: "demand", entitled_bps: 100, delivered_bps: 1 }),
    meeting("good", 0.99, tenant(100)),
    meeting("bad", 0.9, tenant(40)),
    meeting("down", 0, { tenant: "red", state: "path-down" }),
  ];
  expect(byWorst(list).map((m) => m.link)).toEqual(["down", "bad", "good", "idle"]);
});

test("a link by its name selects its edge, or looks for its sender", () => {
  expect(ofLink(map, "leaf1/P1 -> h1/P1")).toEqual({ edge: edgeId("switch:1", "hosts:1"), find: "" });
  expect(ofLink(map, "spine 1/P2/P12 -> h1/P1")).toEqual({ edge: "", find: "spine 1/P2" });
  expect(edgeEnds(edgeId("a", "b"))).toEqual(["a", "b"]);
  expect(joins({ a: "a", b: "b" }, "b", "a")).toBe(true);
});

test("a route is marked on the narrowest groups that are drawn", () => {
  const drawn = new Set(["hosts:1", "switch:1", "switch:2"]);
  expect(drawnIn(["pod:9", "hosts:1", "host:7"], drawn)).toBe("hosts:1");
  expect(drawnIn(["host:7"], drawn)).toBeUndefined();
  const route = drawnPath(
    {
      nodes: [
        { guid: "7", name: "h1", groups: ["hosts:1", "host:7"] },
        { guid: "1", name: "leaf1", groups: ["switch:1"] },
      ],
      hops: [{ port: "7:1", peer: "1:1" }],
    } as never,
    drawn,
  );
  expect([...route.stops]).toEqual(["hosts:1", "switch:1"]);
  expect(route.pairs.has(edgeId("hosts:1", "switch:1"))).toBe(true);
});

test("steps of the use begin at their bound, and keys stay in the grid", () => {
  expect([0, 0.499, 0.5, 0.8, 0.95, 1.04].map((u) => stepOf(u)?.id)).toEqual(["0", "0", "50", "80", "95", "95"]);
  expect(stepOf(undefined)).toBeUndefined();
  expect(moved("ArrowUp", false, [0, 3], 5, 5)).toEqual([0, 3]);
  expect(moved("PageDown", false, [0, 3], 5, 5)).toEqual([4, 3]);
  expect(moved("End", true, [0, 3], 5, 6)).toEqual([4, 5]);
  expect(moved("a", false, [0, 3], 5, 6)).toBeUndefined();
});
