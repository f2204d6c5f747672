import type { ReactNode } from "react";

/** What a column holds for sorting, filtering and export. Undefined is "not measured": last in every order. */
export type Value = string | number | undefined;

/** A column of a DataTable. */
export type Column<T> = {
  /** Stable name: state in the URL refers to it. */
  id: string;
  header: string;
  /** The one unit of the column, shown in its header and in the exported file: "Gbit/s", "%". */
  unit?: string;
  /** What the cell shows; the value itself when left out. */
  cell?: (row: T) => ReactNode;
  /** What the column sorts, filters and exports by. Without it the column does none of these. */
  value?: (row: T) => Value;
  /** Numbers stand at the end, and sort the largest first. */
  align?: "start" | "end";
  /** Least width in rem. */
  width?: number;
  /** Left out where the table is too narrow for all columns; the last of these goes first. */
  minor?: boolean;
  /** Hidden until the reader turns it on in the column menu. */
  hidden?: boolean;
  /** What stands for an undefined value, in the cell and in the exported file: "not measured" when left out. */
  missing?: string;
  /** Why a value is undefined, as a tip on what stands for it. */
  missingWhy?: string;
};

/** The order of rows by one column. */
export type Sort = { id: string; desc: boolean };
