import { expect, test } from "vitest";
import { crossings, layOut, neighbour } from "./layout";

const leaves = (n: number, tier: number, name: string) =>
  Array.from({ length: n }, (_, i) => ({ id: `${name}${i}`, tier }));

test("tiers are rows with the hosts below, and the same input gives the same picture", () => {
  const groups = [...leaves(2, 0, "h"), ...leaves(2, 1, "l"), ...leaves(1, 2, "s")];
  const edges = [
    { a: "h0", b: "l1" },
    { a: "h1", b: "l0" },
    { a: "l0", b: "s0" },
    { a: "l1", b: "s0" },
  ];
  const layout = layOut(groups, edges, 1000);
  const y = (id: string) => layout.places.get(id)?.y ?? Number.NaN;
  expect(y("h0")).toBe(y("h1"));
  expect(y("h0")).toBeLessThan(y("l0"));
  expect(y("l0")).toBeLessThan(y("s0"));
  expect(layOut(groups, edges, 1000)).toEqual(layout);
  // Crossed as named: the order of one tier changes, so that no edges cross.
  expect(layout.lines[1]).toEqual(["l1", "l0"]);
});

test("a full mesh keeps the order of names", () => {
  const groups = [...leaves(7, 1, "l"), ...leaves(3, 2, "s")];
  const edges = leaves(7, 1, "l").flatMap((l) => leaves(3, 2, "s").map((s) => ({ a: l.id, b: s.id })));
  expect(layOut(groups, edges, 1000).lines[0]).toEqual(leaves(7, 1, "l").map((l) => l.id));
});

test("a tier with many groups takes several lines of about the same length", () => {
  const layout = layOut([...leaves(100, 0, "h"), ...leaves(2, 1, "s")], [], 1000);
  expect(layout.lines.map((l) => l.length)).toEqual([20, 20, 20, 20, 20, 2]);
  expect(layout.gap).toBeGreaterThanOrEqual(44);
});

test("crossings are counted between neighbouring tiers", () => {
  const up = new Map([
    ["a", ["y", "x"]],
    ["b", ["x"]],
  ]);
  expect(
    crossings(
      [
        ["a", "b"],
        ["x", "y"],
      ],
      up,
    ),
  ).toBe(1);
  expect(
    crossings(
      [
        ["b", "a"],
        ["x", "y"],
      ],
      up,
    ),
  ).toBe(0);
});

test("keys move to the nearest group of the next line, and stop at the border", () => {
  const layout = layOut([...leaves(4, 0, "h"), ...leaves(2, 1, "s")], [], 1000);
  expect(neighbour(layout, "h3", "up")).toBe("s1");
  expect(neighbour(layout, "s1", "up")).toBe("s1");
  expect(neighbour(layout, "h0", "left")).toBe("h0");
  expect(neighbour(layout, "h0", "right")).toBe("h1");
  expect(neighbour(layout, "gone", "left")).toBe("s0");
});

test("10,000 edges are laid out in less than half a second", () => {
  const groups = [...leaves(200, 1, "l"), ...leaves(50, 2, "s")];
  const edges = leaves(200, 1, "l").flatMap((l) => leaves(50, 2, "s").map((s) => ({ a: l.id, b: s.id })));
  const start = performance.now();
  layOut(groups, edges, 1200);
  expect(performance.now() - start).toBeLessThan(500);
});
