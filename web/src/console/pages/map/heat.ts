import type { Schemas } from "../../../api/client";

export type Matrix = Schemas["MapMatrix"];
export type Cell = Schemas["MatrixCell"];

/** Steps of the use of a link, as fractions of its capacity: from this one on. map.css has their colours. */
export const steps = [
  { id: "0", from: 0 },
  { id: "50", from: 0.5 },
  { id: "80", from: 0.8 },
  { id: "95", from: 0.95 },
] as const;

/** The step of a use; undefined for what was not measured. */
export function stepOf(use: number | undefined): (typeof steps)[number] | undefined {
  return use === undefined ? undefined : ([...steps].reverse().find((s) => use >= s.from) ?? steps[0]);
}

/** Cells by row and column. */
export function grid(m: Matrix): (Cell | undefined)[][] {
  const out: (Cell | undefined)[][] = m.rows.map(() => Array<Cell | undefined>(m.columns.length).fill(undefined));
  for (const c of m.cells) {
    const row = out[c.row];
    if (row) row[c.column] = c;
  }
  return out;
}

/** Where a key moves the focus in a grid; undefined for other keys. */
export function moved(key: string, ctrl: boolean, at: [number, number], rows: number, columns: number) {
  const [r, c] = at;
  const to: Record<string, [number, number]> = {
    ArrowUp: [r - 1, c],
    ArrowDown: [r + 1, c],
    ArrowLeft: [r, c - 1],
    ArrowRight: [r, c + 1],
    Home: ctrl ? [0, 0] : [r, 0],
    End: ctrl ? [rows - 1, columns - 1] : [r, columns - 1],
    PageUp: [r - 10, c],
    PageDown: [r + 10, c],
  };
  const next = to[key];
  if (!next) return undefined;
  return [Math.min(rows - 1, Math.max(0, next[0])), Math.min(columns - 1, Math.max(0, next[1]))] as [number, number];
}
