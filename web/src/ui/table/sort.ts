import type { Sort } from "./types";

/** The order of a table in the address: the column's id, after a minus for a descending order. */
export const sortText = (sort: Sort | undefined): string => (sort ? `${sort.desc ? "-" : ""}${sort.id}` : "");

/** Reads what sortText wrote; "" keeps the order of the service. */
export const sortOf = (text: string): Sort | undefined =>
  text ? { id: text.replace(/^-/, ""), desc: text.startsWith("-") } : undefined;
