import { useTranslation } from "react-i18next";
import { Icon } from "../icons";
import { Quoted } from "../Said";
import { Tip } from "../Tip";
import { Tick } from "./HeadRow";
import { RowLink } from "./RowLink";
import { defined } from "./rows";
import type { Column } from "./types";

type BodyRowProps<T> = {
  row: T;
  name: string;
  columns: Column<T>[];
  /** Place in the whole table, from 2: the header is row 1. */
  place: number;
  index: number;
  measure?: (element: Element | null) => void;
  href?: string;
  select?: { on: boolean; toggle: () => void };
  detail?: { open: boolean; id: string; toggle: () => void };
};

/** One row: its first column is the header of the row, and the link when the row has a page. */
export function BodyRow<T>({ row, name, columns, place, index, measure, href, select, detail }: BodyRowProps<T>) {
  const { t } = useTranslation("ui");
  return (
    <tr aria-rowindex={place} data-index={index} ref={measure} data-selected={select?.on || undefined}>
      {select ? (
        <td className="fl-narrow">
          <Tick label={t("table.select", { row: name })} checked={select.on} onChange={select.toggle} />
        </td>
      ) : null}
      {detail ? (
        <td className="fl-narrow">
          <button
            type="button"
            className="fl-open"
            aria-expanded={detail.open}
            aria-controls={detail.open ? detail.id : undefined}
            aria-label={t("table.details-of", { row: name })}
            onClick={detail.toggle}
          >
            <Icon name={detail.open ? "down" : "right"} size={14} />
          </button>
        </td>
      ) : null}
      {columns.map((c, i) =>
        i === 0 ? (
          <th key={c.id} scope="row" data-align={c.align}>
            {href ? (
              <RowLink href={href}>
                <Cell column={c} row={row} />
              </RowLink>
            ) : (
              <Cell column={c} row={row} />
            )}
          </th>
        ) : (
          <td key={c.id} data-align={c.align}>
            <Cell column={c} row={row} />
          </td>
        ),
      )}
    </tr>
  );
}

const worded = (value: ReturnType<typeof defined>) => (typeof value === "string" ? <Quoted text={value} /> : value);

function Cell<T>({ column, row }: { column: Column<T>; row: T }) {
  const { t } = useTranslation("ui");
  const value = column.cell ? column.cell(row) : worded(defined(column.value?.(row)));
  const missing = column.missing ?? t("not-measured");
  return (
    <div className="fl-cell">
      {value ?? (
        <span className="fl-missing">
          {column.missingWhy ? <Tip label={column.missingWhy}>{missing}</Tip> : missing}
        </span>
      )}
    </div>
  );
}
