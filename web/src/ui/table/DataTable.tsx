import "./table.css";
import { Button } from "@mantine/core";
import { type ReactNode, useContext, useId, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../format/useFormat";
import { SimulatedContext } from "../simulated";
import { Body, virtualFrom } from "./Body";
import { HeadRow } from "./HeadRow";
import { exported, textWidth } from "./rows";
import { saveCsv } from "./save";
import { Toolbar } from "./Toolbar";
import type { Column, Sort } from "./types";
import { useFilter } from "./useFilter";
import { useFolded } from "./useFolded";
import { useOwn } from "./useOwn";
import { useFiltered, useSorted } from "./useRows";

export type { Column, Sort, Value } from "./types";

const none: ReadonlySet<string> = new Set();

export type DataTableProps<T> = {
  /** Accessible name of the table and of its scroll box. */
  caption: string;
  rows: T[];
  /** Keep them stable (useMemo): sort and filter start afresh when they change. The first one names the row. */
  columns: Column<T>[];
  rowId: (row: T) => string;
  /** The page of a row: the first column becomes its link. */
  href?: (row: T) => string | undefined;
  /** Order and its setter; without a setter the table keeps the order itself, starting with `sort`. */
  sort?: Sort;
  onSort?: (sort: Sort | undefined) => void;
  /** Filter text and its setter, called 200 ms after the last key. */
  filter?: string;
  onFilter?: (filter: string) => void;
  /** Label of the filter field. An empty text removes the field. */
  filterLabel?: string;
  /** Ids of the selected rows; with `onSelect` each row has a tick box. */
  selected?: ReadonlySet<string>;
  onSelect?: (selected: ReadonlySet<string>) => void;
  /** What to do with the selected rows, and other buttons of the table. */
  actions?: ReactNode;
  /** The detail of a row, below it, when opened. */
  expanded?: (row: T) => ReactNode;
  /** Ids of the opened rows and their setter; without a setter the table keeps them itself. */
  open?: ReadonlySet<string>;
  onOpen?: (open: ReadonlySet<string>) => void;
  /** What stands in place of a table without rows. */
  empty?: ReactNode;
  /** Name of the exported file without ".csv"; without it there is no export. */
  csvName?: string;
  /** Height of the scroll box in CSS units, at most. */
  maxHeight?: string | number;
  /** The number of rows in words, with the page's noun: "37 of 500 tenants". */
  count?: (shown: number, total: number) => string;
  /** Whether the reader may show and hide columns: when a column is hidden at first, unless said here. */
  columnMenu?: boolean;
  /** Called when the reader scrolls near the last of many rows, to load more of them. */
  onEnd?: () => void;
};

/** A table with order, filter, selection, details and export, for up to some ten thousand rows. */
export function DataTable<T>(p: DataTableProps<T>) {
  const { t } = useTranslation("ui");
  const { rows, columns } = p;
  const [sort, setSort] = useOwn(p.sort, p.onSort);
  const [open, setOpen] = useOwn(p.open ?? none, p.onOpen);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(
    () => new Set(columns.flatMap((c) => (c.hidden ? [c.id] : []))),
  );
  const filter = useFilter(p.filter, p.onFilter);
  const part = useRef<HTMLDivElement>(null);
  const simulated = useContext(SimulatedContext);
  const { filtered, shown } = useShown(p, sort, filter, hidden);
  if (rows.length === 0 && p.empty !== undefined) return p.empty;
  const clear = () => {
    filter.change("");
    part.current?.querySelector<HTMLElement>("[data-filter]")?.focus(); // the button goes away with the state it ends
  };
  const csv = () => {
    const source: Column<T> = { id: "source", header: t("chart.source"), value: () => t("chart.simulated") };
    const out = exported(
      filtered.map((r) => r.original),
      simulated ? [...shown, source] : shown,
      t("not-measured"),
    );
    saveCsv(p.csvName ?? "", out.head, out.rows);
  };
  return (
    <div className="fl-table" ref={part}>
      <Toolbar
        filter={filter.text}
        onFilter={filter.change}
        onFocus={filter.onFocus}
        filterLabel={p.filterLabel ?? t("table.filter")}
        count={(p.count ?? ((n, total) => t("table.count", { shown: n, total })))(filtered.length, rows.length)}
        columns={columns}
        hidden={hidden}
        onHidden={(p.columnMenu ?? columns.some((c) => c.hidden)) ? setHidden : undefined}
        onCsv={p.csvName === undefined ? undefined : csv}
        actions={p.actions}
      />
      {filtered.length === 0 && rows.length > 0 ? (
        <div className="fl-table-none">
          <span>{t("table.nothing")}</span>
          <Button size="xs" variant="default" onClick={clear}>
            {t("table.clear")}
          </Button>
        </div>
      ) : (
        <Box table={p} filtered={filtered} shown={shown} sort={sort} setSort={setSort} open={open} setOpen={setOpen} />
      )}
    </div>
  );
}

/** Rows in order after the filter, and the columns in sight. */
function useShown<T>(
  p: DataTableProps<T>,
  sort: Sort | undefined,
  filter: { words: string[]; near: boolean },
  hidden: ReadonlySet<string>,
) {
  const { i18n } = useTranslation("ui");
  const sorted = useSorted(p.rows, p.columns, p.rowId, sort, i18n.language);
  const filtered = useFiltered(sorted, p.rows, p.columns, filter.words, filter.near);
  const shown = useMemo(() => p.columns.filter((c) => !hidden.has(c.id)), [p.columns, hidden]);
  return { filtered, shown };
}

type BoxProps<T> = {
  table: DataTableProps<T>;
  filtered: ReturnType<typeof useFiltered<T>>;
  shown: Column<T>[];
  sort?: Sort;
  setSort: (sort: Sort | undefined) => void;
  open: ReadonlySet<string>;
  setOpen: (open: ReadonlySet<string>) => void;
};

/** The scroll box and the table in it. */
function Box<T>({ table: p, filtered, shown: wanted, sort, setSort, open, setOpen }: BoxProps<T>) {
  const { t } = useTranslation("ui");
  const { list } = useFormat();
  const [box, setBox] = useState<HTMLElement | null>(null);
  const [all, setAll] = useState(false);
  const { folded, kept: shown } = useFolded(box, wanted, all);
  const id = useId();
  const many = p.rows.length > virtualFrom;
  const widths = useMemo(
    () => new Map(many ? shown.map((c) => [c.id, `${textWidth(p.rows, c)}ch`]) : []),
    [many, shown, p.rows],
  );
  const opened = p.expanded ? filtered.filter((r) => open.has(r.id)).length : 0;
  const { selected, onSelect } = p;
  const nameOf = (row: T) => String(p.columns[0]?.value?.(row) ?? p.rowId(row));
  return (
    <>
      {folded.length > 0 || all ? (
        <div className="fl-table-folded fl-no-print">
          {all ? null : <span>{t("table.folded", { names: list(folded.map((c) => c.header)) })}</span>}
          <Button size="compact-sm" variant="subtle" onClick={() => setAll(!all)}>
            {all ? t("table.fold") : t("table.unfold")}
          </Button>
        </div>
      ) : null}
      <section
        id={id}
        ref={setBox}
        className="fl-table-box"
        aria-label={p.caption}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll only a box that has the focus
        tabIndex={0}
        style={{ maxHeight: p.maxHeight ?? (many ? "70vh" : undefined) }}
      >
        <table aria-label={p.caption} aria-rowcount={filtered.length + opened + 1}>
          <HeadRow
            columns={shown}
            widths={widths}
            sort={sort}
            onSort={setSort}
            detail={Boolean(p.expanded)}
            select={
              selected && onSelect
                ? selectAll(
                    filtered.map((r) => r.id),
                    selected,
                    onSelect,
                  )
                : undefined
            }
          />
          <Body
            name={p.caption}
            rows={filtered}
            columns={shown}
            box={box}
            width={shown.length + (onSelect ? 1 : 0) + (p.expanded ? 1 : 0)}
            nameOf={nameOf}
            href={p.href}
            selected={selected}
            onSelect={onSelect}
            expanded={p.expanded}
            open={open}
            onOpen={setOpen}
            onEnd={p.onEnd}
          />
        </table>
      </section>
    </>
  );
}

/** The tick box of the header: all rows that the filter lets through, whatever is selected beside them. */
function selectAll(ids: string[], selected: ReadonlySet<string>, onSelect: (selected: ReadonlySet<string>) => void) {
  const on = ids.filter((id) => selected.has(id)).length;
  const all = ids.length > 0 && on === ids.length;
  const toggle = () => {
    const next = new Set(selected);
    for (const id of ids) all ? next.delete(id) : next.add(id);
    onSelect(next);
  };
  return { all, some: on > 0, toggle };
}
