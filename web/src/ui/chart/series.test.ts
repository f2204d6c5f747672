import { expect, test } from "vitest";
import { axisDates, iso, moment, zoneOf } from "./dates";
import { parseRange, rangeSearch, resolveRange } from "./range";
import { sparkPath } from "./Sparkline";
import { aligned, fromFirst, gap, latest, limitSeries, lookOf, moved, zoomed } from "./series";
import type { ChartSeries } from "./types";

const series = (label: string, values: (number | null)[]): ChartSeries => ({ label, values, kind: "line" });
const others = (n: number) => `${n} others`;

test("what was not measured becomes null, never zero", () => {
  expect([gap(undefined), gap(null), gap(Number.NaN), gap(Number.POSITIVE_INFINITY), gap(0)]).toEqual([
    null,
    null,
    null,
    null,
    0,
  ]);
  expect(
    aligned([1, 2, 3], [series("a", [5, Number.NaN])], [{ label: "b", upper: [2, null, 2], lower: [1, 1, 1] }]),
  ).toEqual([
    [1, 2, 3],
    [5, null, null],
    [2, null, 2],
    [1, 1, 1],
  ]);
});

test("up to eight series stay as they are", () => {
  const eight = Array.from({ length: 8 }, (_, i) => series(`s${i}`, [i]));
  expect(limitSeries(eight, others)).toEqual({ series: eight, left: 0 });
});

test("of more than eight the seven largest stay in their order, and the rest is one sum with every gap", () => {
  const ten = [
    series("small", [1, 1]),
    ...Array.from({ length: 7 }, (_, i) => series(`s${i}`, [10 + i, 10])),
    series("gap", [2, null]),
    series("none", [null, null]),
  ];
  const drawn = limitSeries(ten.slice(0, 9), others);
  expect(drawn.series.map((s) => s.label)).toEqual(["s0", "s1", "s2", "s3", "s4", "s5", "s6", "2 others"]);
  expect(drawn.series[7]?.values).toEqual([3, null]);
  expect(limitSeries(ten, others).left).toBe(3);
  expect(limitSeries(ten, others, "leave-out").series.map((s) => s.label)).toEqual([
    "s0",
    "s1",
    "s2",
    "s3",
    "s4",
    "s5",
    "s6",
    "gap",
  ]);
});

test("each of eight lines differs in colour, dash and marker", () => {
  const looks = Array.from({ length: 8 }, (_, i) => lookOf(series("", []), i));
  for (const key of ["colour", "dash", "marker"] as const)
    expect(new Set(looks.map((l) => String(l[key]))).size).toBe(8);
  expect(lookOf({ ...series("", []), kind: "predicted" }, 5)).toMatchObject({
    colour: 6,
    dash: [5, 5],
    marker: "none",
  });
});

test("zooming and moving keep the range within the present", () => {
  expect(zoomed({ from: 0, to: 1000 }, 0.5)).toEqual({ from: 250, to: 750 });
  expect(zoomed({ from: 0, to: 1000 }, 2, 1000)).toEqual({ from: -1000, to: 1000 });
  expect(zoomed({ from: 0, to: 60 }, 0.5)).toEqual({ from: 0, to: 60 });
  expect(moved({ from: 0, to: 1000 }, -0.5)).toEqual({ from: -500, to: 500 });
  expect(moved({ from: 0, to: 1000 }, 0.5, 1200)).toEqual({ from: 200, to: 1200 });
});

test("an empty beginning is left out up to the first value or event, and keeps five minutes", () => {
  const line = (values: (number | null)[]) => [{ label: "x", values, kind: "line" as const }];
  const times = [0, 900, 1800, 2700, 3600];
  const range = { from: 0, to: 3600 };
  const begin = (values: (number | null)[], events: { at: number }[] = []) =>
    fromFirst(range, times, line(values), events);
  expect(begin([null, null, 1, null, 1])).toEqual({ from: 1764, to: 3600, first: 1800 });
  expect(begin([null, null, 1, null, 1], [{ at: 1000 }, { at: 5000 }])).toEqual({ from: 948, to: 3600, first: 1800 });
  expect(begin([null, null, null, null, 1])).toEqual({ from: 3294, to: 3600, first: 3600 });
  expect(begin([1, null, null, null, 1])).toBe(range);
  expect(begin([null, 1, 1, 1, 1], [{ at: 600 }])).toBe(range); // a sixth of the range is no waste
  expect(begin([null, null, null, null, null])).toBe(range);
});

test("the latest value is the last measured one in the range", () => {
  const lines = [series("a", [1, 2, null, 4])];
  expect(latest([10, 20, 30, 40], lines, { from: 10, to: 35 })).toBe(1);
  expect(latest([10, 20, 30, 40], lines, { from: 25, to: 35 })).toBe(-1);
});

test("dates follow language and time zone", () => {
  const noon = Date.UTC(2026, 10, 27, 12, 0, 0) / 1000;
  expect(axisDates([noon, noon + 3600], 3600, "en")).toEqual(["20:00\n27 Nov", "21:00"]);
  expect(axisDates([noon], 86_400, "zh")).toEqual(["11月27日"]);
  expect(axisDates([noon + 5 * 3600], 3600, "en")).toEqual(["01:00\n28 Nov"]);
  expect(moment(noon, "en")).toContain("20:00:00");
  expect(iso(noon)).toBe("2026-11-27T12:00:00Z");
  expect(zoneOf("en", noon * 1000)).toBe("GMT+8, Asia/Shanghai");
});

test("a range comes from the URL, and what is invalid gives the usual one", () => {
  expect(parseRange({ last: "24h" })).toEqual({ last: "24h" });
  expect(parseRange({ from: "100", to: 200, last: "24h" })).toEqual({ from: 100, to: 200 });
  for (const bad of [
    {},
    { last: "9h" },
    { from: 200, to: 100 },
    { from: "x", to: "" },
    { from: 5 },
    { from: -1, to: 3 },
    { last: ["1h"] },
  ]) {
    expect(parseRange(bad)).toEqual({ last: "6h" });
  }
  expect(parseRange({}, { last: "7d" })).toEqual({ last: "7d" });
  expect(parseRange(rangeSearch({ from: 1, to: 2 }))).toEqual({ from: 1, to: 2 });
  expect(rangeSearch({ last: "1h" })).toEqual({ last: "1h", from: "", to: "" });
  expect(resolveRange({ last: "1h" }, 10_000.7)).toEqual({ from: 6400, to: 10_000 });
  expect(resolveRange({ from: 1, to: 2 }, 10_000)).toEqual({ from: 1, to: 2 });
});

test("a small line breaks at gaps and marks values that stand alone", () => {
  expect(sparkPath([0, 10, null, 5, null], 104, 24, 0, 10)).toEqual({ line: "M2 22L27 2", points: [[77, 12]] });
  expect(sparkPath([], 104, 24, 0, 0)).toEqual({ line: "", points: [] });
});
