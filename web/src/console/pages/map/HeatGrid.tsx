import { memo, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { type Cell, grid, type Matrix, moved, stepOf } from "./heat";

/** Columns up to which a cell has the size of a target; larger matrices have their table for that. */
const largeCells = 48;

/** The links between two tiers as a grid: one focus that arrows move, Enter opens a cell. */
export function HeatGrid({
  matrix,
  selected,
  onOpen,
}: {
  matrix: Matrix;
  /** Row and column of the open cell, as "row,column". */
  selected: string;
  onOpen: (cell: Cell) => void;
}) {
  const { t } = useTranslation("map");
  const cells = useMemo(() => grid(matrix), [matrix]);
  const box = useRef<HTMLTableElement>(null);
  const [at, setAt] = useState<[number, number]>([0, 0]);
  const focus = (next: [number, number]) => {
    setAt(next);
    const cell = box.current?.querySelector<HTMLElement>(`[data-cell="${next[0]},${next[1]}"]`);
    cell?.focus();
  };
  const place = (target: EventTarget) =>
    (target as Element).closest("[data-cell]")?.getAttribute("data-cell")?.split(",").map(Number) as
      | [number, number]
      | undefined;
  const open = (target: EventTarget) => {
    const where = place(target);
    const cell = where ? cells[where[0]]?.[where[1]] : undefined;
    if (where) setAt(where);
    if (cell) onOpen(cell);
  };
  return (
    <div className="fl-heat-box" data-small={matrix.columns.length > largeCells || undefined}>
      <table
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a table with one focus that arrows move
        role="grid"
        className="fl-heat"
        aria-label={t("matrix-of", { rows: matrix.rows.length, columns: matrix.columns.length })}
        aria-rowcount={matrix.rows.length + 1}
        aria-colcount={matrix.columns.length + 1}
        onClick={(e) => open(e.target)}
        onFocus={(e) => {
          const where = place(e.target);
          if (where && (where[0] !== at[0] || where[1] !== at[1])) setAt(where);
        }}
        onKeyDown={(e) => {
          if (e.key === "Enter" || e.key === " ") {
            e.preventDefault();
            open(e.target);
            return;
          }
          const next = moved(e.key, e.ctrlKey, at, matrix.rows.length, matrix.columns.length);
          if (!next) return;
          e.preventDefault();
          focus(next);
        }}
      >
        <thead>
          <tr>
            <th scope="col">
              <span className="fl-visually-hidden">{t("lower")}</span>
            </th>
            {matrix.columns.map((c) => (
              <th key={c.id} scope="col" title={c.name}>
                <span className="fl-heat-name">{c.name}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {matrix.rows.map((row, r) => (
            <HeatRow
              key={row.id}
              name={row.name}
              row={r}
              cells={cells[r] ?? []}
              columns={matrix.columns}
              focused={at[0] === r ? at[1] : -1}
              selected={selected.startsWith(`${r},`) ? Number(selected.split(",")[1]) : -1}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

type RowProps = {
  name: string;
  row: number;
  cells: (Cell | undefined)[];
  columns: Matrix["columns"];
  focused: number;
  selected: number;
};

const HeatRow = memo(function HeatRow({ name, row, cells, columns, focused, selected }: RowProps) {
  const words = useCellWords();
  return (
    <tr>
      <th scope="row" title={name}>
        <span>{name}</span>
      </th>
      {columns.map((column, c) => {
        const cell = cells[c];
        const text = words(name, column.name, cell);
        return (
          <td
            key={column.id}
            // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: cells of a grid
            role="gridcell"
            tabIndex={focused === c ? 0 : -1}
            data-cell={`${row},${c}`}
            data-step={cell ? (cell.down ? "down" : (stepOf(cell.worst_use)?.id ?? "none")) : undefined}
            data-contended={cell?.contended ? "" : undefined}
            aria-selected={selected === c || undefined}
            aria-label={text}
            title={text}
          />
        );
      })}
    </tr>
  );
});

/** A cell in words. */
function useCellWords(): (row: string, column: string, cell: Cell | undefined) => string {
  const { t } = useTranslation(["map", "common"]);
  const format = useFormat();
  return (row, column, cell) =>
    cell
      ? t("cell", {
          row,
          column,
          links: cell.links,
          use: format.share(cell.worst_use) ?? t("common:not-measured"),
          contended: cell.contended,
          down: cell.down,
        })
      : t("cell-none", { row, column });
}
