import { csv, download } from "../../format/csv";

/** Offers head and rows to the reader as the file NAME.csv. */
export function saveCsv(name: string, head: string[], rows: (string | number)[][]) {
  download(`${name}.csv`, csv(head, rows));
}
