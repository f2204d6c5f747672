import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { nextSort } from "./rows";
import type { Column, Sort } from "./types";

/** A tick box of its own size: Mantine's would cost a component tree for each row. */
export function Tick({
  label,
  checked,
  some,
  onChange,
}: {
  label: string;
  checked: boolean;
  some?: boolean;
  onChange: () => void;
}) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = Boolean(some) && !checked;
  }, [some, checked]);
  return (
    <label className="fl-tick">
      <input ref={box} type="checkbox" aria-label={label} checked={checked} onChange={onChange} />
    </label>
  );
}

type HeadRowProps<T> = {
  columns: Column<T>[];
  widths: Map<string, string>;
  sort?: Sort;
  onSort: (sort: Sort | undefined) => void;
  select?: { all: boolean; some: boolean; toggle: () => void };
  detail: boolean;
};

/** The header: a button for each column that sorts. */
export function HeadRow<T>({ columns, widths, sort, onSort, select, detail }: HeadRowProps<T>) {
  const { t } = useTranslation("ui");
  return (
    <thead>
      <tr aria-rowindex={1}>
        {select ? (
          <th scope="col" className="fl-narrow">
            <Tick label={t("table.select-all")} checked={select.all} some={select.some} onChange={select.toggle} />
          </th>
        ) : null}
        {detail ? (
          <th scope="col" className="fl-narrow">
            <span className="fl-visually-hidden">{t("table.details")}</span>
          </th>
        ) : null}
        {columns.map((c) => {
          const order = sort?.id === c.id ? (sort.desc ? "descending" : "ascending") : undefined;
          return (
            <th
              key={c.id}
              scope="col"
              data-align={c.align}
              aria-sort={c.value ? (order ?? "none") : undefined}
              style={{ minWidth: c.width ? `${c.width}rem` : widths.get(c.id) }}
            >
              {c.value ? (
                <button type="button" className="fl-sort" onClick={() => onSort(nextSort(c, sort))}>
                  <HeadText column={c} />
                  <SortMark order={order} />
                </button>
              ) : (
                <HeadText column={c} />
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

function HeadText<T>({ column }: { column: Column<T> }) {
  return (
    <span>
      {column.header}
      {column.unit ? <span className="fl-unit"> {column.unit}</span> : null}
    </span>
  );
}

function SortMark({ order }: { order?: "ascending" | "descending" }) {
  return (
    <svg width="10" height="14" viewBox="0 0 10 14" aria-hidden="true" className="fl-sort-mark">
      <path d="M5 1 9 6H1z" fill="currentColor" opacity={order === "ascending" ? 1 : 0.25} />
      <path d="M5 13 1 8h8z" fill="currentColor" opacity={order === "descending" ? 1 : 0.25} />
    </svg>
  );
}
