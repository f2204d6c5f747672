import { type ColumnDef, getCoreRowModel, getSortedRowModel, type Row, useReactTable } from "@tanstack/react-table";
import { useMemo } from "react";
import { compareValues, defined, matches, searchTexts } from "./rows";
import type { Column, Sort } from "./types";

/** The rows in order: stable, undefined last in both directions. Sorting is by all rows, so that a filter costs one pass. */
export function useSorted<T>(
  rows: T[],
  columns: Column<T>[],
  rowId: (row: T) => string,
  sort: Sort | undefined,
  language: string,
): Row<T>[] {
  const defs = useMemo<ColumnDef<T>[]>(
    () =>
      columns.map((c) => ({
        id: c.id,
        accessorFn: (row) => defined(c.value?.(row)),
        enableSorting: Boolean(c.value),
        sortUndefined: "last",
        sortingFn: (a, b, id) =>
          compareValues(a.getValue<string | number>(id), b.getValue<string | number>(id), language),
      })),
    [columns, language],
  );
  const sorting = useMemo(
    () => (sort && columns.some((c) => c.id === sort.id && c.value) ? [sort] : []),
    [sort, columns],
  );
  const table = useReactTable({
    data: rows,
    columns: defs,
    getRowId: rowId,
    state: { sorting },
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
    autoResetAll: false, // pages and groups are not used: to reset them would render the table twice for each change of the rows
  });
  return table.getRowModel().rows;
}

/** The rows that hold all words. The text of each row is made once for the data, when the field gets the focus (`near`), not for each key. */
export function useFiltered<T>(
  sorted: Row<T>[],
  rows: T[],
  columns: Column<T>[],
  words: string[],
  near: boolean,
): Row<T>[] {
  const any = near || words.length > 0;
  const texts = useMemo(() => (any ? searchTexts(rows, columns) : []), [rows, columns, any]);
  return useMemo(
    () => (words.length === 0 ? sorted : sorted.filter((r) => matches(texts[r.index] ?? "", words))),
    [sorted, texts, words],
  );
}
