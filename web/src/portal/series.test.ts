import { expect, test } from "vitest";
import { contendedPart, notContended, type OwnSeries } from "./series";

const states = (values: Record<string, (number | null)[]>) =>
  Object.entries(values).map(([state, v]) => ({ labels: { state }, times: v.map((_, i) => i * 15), values: v }));

test("the contended part of a step is that of its measurements, and unknown without one", () => {
  const parts = contendedPart(states({ contending: [1, 3, null, null], idle: [null, 1, 4, null] }), 4);
  expect(parts).toEqual([1, 0.75, 0, null]);
});

test("times without contention are joined; times without a state are none of them", () => {
  const series: OwnSeries = {
    range: { from: 0, to: 75 },
    times: [0, 15, 30, 45, 60, 75],
    entitled: [],
    delivered: [],
    contended: [0.5, 0, 0, null, 0, 1],
  };
  expect(notContended(series, 15, "idle")).toEqual([
    { from: 0, to: 30, label: "idle" },
    { from: 45, to: 60, label: "idle" },
  ]);
});
