import { plain } from "../i18n/say";

/** A cell of an export. A text that a spreadsheet would read as a formula gets an apostrophe before it. */
type Cell = string | number | null | undefined;

/** Rows as CSV (RFC 4180). */
export function csv(head: string[], rows: Cell[][]): string {
  return [head, ...rows]
    .map((row) => row.map(cell).join(","))
    .join("\r\n")
    .concat("\r\n");
}

function cell(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  value = plain(value);
  const safe = /^[\s]*[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Offers a text as a file. The mark at its start makes spreadsheets read CSV as UTF-8. */
export function download(name: string, text: string, type = "text/csv;charset=utf-8") {
  const mark = type.startsWith("text/csv") ? "\ufeff" : "";
  const url = URL.createObjectURL(new Blob([mark + text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 100) || "fairlane.csv";
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
