import type { Column, Value } from "./types";

let collator: { language: string; compare: (a: string, b: string) => number } | undefined;

/** Compares two defined values: numbers by size, text by the language's order with numbers in it by size (leaf-2 before leaf-10). */
export function compareValues(a: string | number, b: string | number, language = "en"): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (collator?.language !== language) {
    collator = { language, compare: new Intl.Collator(language, { numeric: true, sensitivity: "base" }).compare };
  }
  return collator.compare(String(a), String(b));
}

/** The value as a table shows and orders it: a number that is not finite was not measured. */
export function defined(value: Value | null): Value {
  return value === null || (typeof value === "number" && !Number.isFinite(value)) ? undefined : value;
}

/** The lower-case text that a filter searches in, one entry a row. */
export function searchTexts<T>(rows: T[], columns: Column<T>[]): string[] {
  return rows.map((row) =>
    columns
      .map((c) => c.value?.(row) ?? "")
      .join("\n")
      .toLowerCase(),
  );
}

/** The words of a filter, lower-case: a row must hold each of them, in any column. */
export function filterWords(filter: string): string[] {
  return filter.toLowerCase().split(/\s+/).filter(Boolean);
}

/** Whether a row's text holds all words. */
export function matches(text: string, words: string[]): boolean {
  return words.every((w) => text.includes(w));
}

/** Head and rows of the exported file. Undefined values are worded, so that no cell reads as zero. */
export function exported<T>(
  rows: T[],
  columns: Column<T>[],
  missing: string,
): { head: string[]; rows: (string | number)[][] } {
  const shown = columns.filter((c) => c.value);
  return {
    head: shown.map((c) => (c.unit ? `${c.header} (${c.unit})` : c.header)),
    rows: rows.map((row) => shown.map((c) => defined(c.value?.(row)) ?? c.missing ?? missing)),
  };
}

/** The order after a press on a column's header: first order, its reverse, none. */
export function nextSort<T>(column: Column<T>, sort: { id: string; desc: boolean } | undefined) {
  const first = column.align === "end";
  if (sort?.id !== column.id) return { id: column.id, desc: first };
  return sort.desc === first ? { id: column.id, desc: !first } : undefined;
}

/** A least width in ch for text columns, so that widths do not jump while virtual rows come and go. */
export function textWidth<T>(rows: T[], column: Column<T>): number {
  let most = 0;
  for (const row of rows) {
    const value = column.value?.(row);
    if (typeof value === "string" && value.length > most) most = value.length;
  }
  return Math.min(most, 36);
}
