import { expect, test } from "vitest";
import { grouped } from "./draw";

test("marks that are close together form a group, by the distance from its first", () => {
  const marks = [40, 0, 9, 18, 27].map((x, i) => ({ x, n: i + 1, label: `event ${i + 1}` }));
  expect(grouped(marks, 20).map((g) => g.map((m) => m.x))).toEqual([
    [0, 9, 18],
    [27, 40],
  ]);
  expect(grouped(marks, 1)).toHaveLength(5);
  expect(grouped([], 20)).toEqual([]);
});
