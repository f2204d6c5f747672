import { all } from "../../../api/client";
import { csv } from "../../../format/csv";
import { type AuditFilter, type Entry, readEntries } from "./queries";

/** Entries of an export at most; `fairlane audit export` has no such limit. */
export const mostExported = 100_000;

/** Columns of the file: the names of the contract, so that programs read the file. */
const columns = [
  "seq",
  "at",
  "actor",
  "actor_kind",
  "token",
  "addr",
  "request_id",
  "fabric",
  "action",
  "object",
  "outcome",
  "detail",
  "before",
  "after",
  "prev",
  "hash",
] as const satisfies (keyof Entry)[];

/** The entries as CSV; the objects before and after a change are JSON in one cell. */
export function csvOf(entries: Entry[]): string {
  const cell = (v: unknown) =>
    typeof v === "string" || typeof v === "number" ? v : v === undefined ? "" : JSON.stringify(v);
  return csv(
    [...columns],
    entries.map((e) => columns.map((c) => cell(e[c]))),
  );
}

/** The entries as JSON, one a line. */
export const linesOf = (entries: Entry[]): string => entries.map((e) => `${JSON.stringify(e)}\n`).join("");

/** Reads the entries that match the filter, at most `mostExported` of them. `more` says that entries are left out. */
export async function readAll(
  filter: AuditFilter,
  onProgress: (read: number) => void,
  signal: AbortSignal,
): Promise<{ entries: Entry[]; more: boolean }> {
  let read = 0;
  let more = false;
  const entries = await all<Entry>(async (cursor) => {
    const page = await readEntries(filter, 1000, cursor, signal);
    read += page.items.length;
    more = page.next_cursor !== undefined;
    onProgress(read);
    return page;
  }, mostExported);
  return { entries, more };
}
