import { expect, test } from "vitest";
import { exported, filterWords, matches, nextSort, searchTexts, textWidth } from "./rows";
import type { Column } from "./types";

type Row = { name: string; rate?: number };
const columns: Column<Row>[] = [
  { id: "name", header: "Tenant", value: (r) => r.name },
  { id: "rate", header: "Delivered", unit: "Gbit/s", align: "end", value: (r) => r.rate },
];

test("a filter finds each word in any column, whatever the case", () => {
  const texts = searchTexts([{ name: "Gold", rate: 40 }, { name: "silver" }], columns);
  const found = (filter: string) => texts.map((t) => matches(t, filterWords(filter)));
  expect(found("GOLD 40")).toEqual([true, false]);
  expect(found("  ")).toEqual([true, true]);
  expect(found("gold silver")).toEqual([false, false]);
});

test("the exported file words what was not measured, and never writes zero for it", () => {
  expect(
    exported([{ name: "gold" }, { name: "nan", rate: Number.NaN }, { name: "zero", rate: 0 }], columns, "not measured"),
  ).toEqual({
    head: ["Tenant", "Delivered (Gbit/s)"],
    rows: [
      ["gold", "not measured"],
      ["nan", "not measured"],
      ["zero", 0],
    ],
  });
});

test("numbers sort the largest first, text from a to z, and the third press ends the order", () => {
  const [name, rate] = columns as [Column<Row>, Column<Row>];
  expect(nextSort(rate, undefined)).toEqual({ id: "rate", desc: true });
  expect(nextSort(rate, { id: "rate", desc: true })).toEqual({ id: "rate", desc: false });
  expect(nextSort(rate, { id: "rate", desc: false })).toBeUndefined();
  expect(nextSort(name, { id: "rate", desc: false })).toEqual({ id: "name", desc: false });
});

test("a filter over 10,000 rows takes less than 100 ms", () => {
  const rows = Array.from({ length: 10_000 }, (_, i) => ({ name: `tenant-${i}`, rate: i }));
  const texts = searchTexts(rows, columns);
  const start = performance.now();
  expect(texts.filter((t) => matches(t, filterWords("tenant-99 99"))).length).toBeGreaterThan(0);
  expect(performance.now() - start).toBeLessThan(100);
});

test("widths of text columns are bounded", () => {
  expect(textWidth([{ name: "x".repeat(10_000) }], columns[0] as Column<Row>)).toBe(36);
});
