import type { Row } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useId, useMemo } from "react";
import { BodyRow } from "./BodyRow";
import { toggled } from "./Toolbar";
import type { Column } from "./types";
import { useKeptPlace, useKeptScroll } from "./useKeptScroll";

/** Above this number of rows only the visible ones are in the document. */
export const virtualFrom = 100;
const rowHeight = 33;
/** Rows before the last one at which more are loaded: a screen of them. */
const nearEnd = 30;

export type BodyProps<T> = {
  /** The name of the table. */
  name: string;
  rows: Row<T>[];
  columns: Column<T>[];
  box: HTMLElement | null;
  width: number;
  nameOf: (row: T) => string;
  href?: (row: T) => string | undefined;
  selected?: ReadonlySet<string>;
  onSelect?: (selected: ReadonlySet<string>) => void;
  expanded?: (row: T) => ReactNode;
  open: ReadonlySet<string>;
  onOpen: (open: ReadonlySet<string>) => void;
  onEnd?: () => void;
};

type Item<T> = { row: Row<T>; detail: boolean };

/** The rows, each with its detail row when open; above `virtualFrom` only those in sight, between two empty rows of their height. */
export function Body<T>(p: BodyProps<T>) {
  const { rows, open, expanded, width } = p;
  const items = useMemo<Item<T>[]>(
    () =>
      rows.flatMap((row) =>
        expanded && open.has(row.id)
          ? [
              { row, detail: false },
              { row, detail: true },
            ]
          : [{ row, detail: false }],
      ),
    [rows, open, expanded],
  );
  const virtual = items.length > virtualFrom;
  const place = useKeptPlace(p.name);
  const virtualizer = useVirtualizer({
    count: items.length,
    enabled: virtual,
    getScrollElement: () => p.box,
    estimateSize: () => rowHeight,
    getItemKey: (i) => `${items[i]?.row.id ?? i}${items[i]?.detail ? " +" : ""}`,
    overscan: 12,
    scrollPaddingStart: rowHeight,
    initialOffset: place?.offset,
    initialMeasurementsCache: place?.rows,
  });
  useKeptScroll(p.box, p.name, place, () => (virtual ? virtualizer.measurementsCache : []));
  const seen = virtual ? virtualizer.getVirtualItems() : [];
  const before = seen[0]?.start ?? 0;
  const near = virtual && (seen.at(-1)?.index ?? 0) >= items.length - nearEnd;
  const { onEnd } = p;
  useEffect(() => {
    if (near) onEnd?.();
  }, [near, onEnd]);
  const after = virtual ? virtualizer.getTotalSize() - (seen.at(-1)?.end ?? 0) : 0;
  const shown = virtual
    ? seen.flatMap((v) => (items[v.index] ? [{ item: items[v.index] as Item<T>, index: v.index }] : []))
    : items.map((item, index) => ({ item, index }));
  return (
    <tbody>
      {before > 0 ? <Spacer height={before} width={width} /> : null}
      {shown.map(({ item, index }) => (
        <ItemRow
          key={`${item.row.id}${item.detail ? " +" : ""}`}
          item={item}
          index={index}
          measure={virtual ? virtualizer.measureElement : undefined}
          body={p}
        />
      ))}
      {after > 0 ? <Spacer height={after} width={width} /> : null}
    </tbody>
  );
}

function Spacer({ height, width }: { height: number; width: number }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row that only holds height takes no focus
    <tr aria-hidden="true" className="fl-spacer">
      <td colSpan={width} style={{ height }} />
    </tr>
  );
}

type ItemRowProps<T> = {
  item: Item<T>;
  index: number;
  measure?: (element: Element | null) => void;
  body: BodyProps<T>;
};

function ItemRow<T>({ item, index, measure, body }: ItemRowProps<T>) {
  const prefix = useId();
  const { row } = item;
  const { selected, onSelect, open, onOpen, expanded } = body;
  const id = `${body.box?.id ?? prefix}-${row.id}`;
  if (item.detail) {
    return (
      <tr id={id} aria-rowindex={index + 2} data-index={index} ref={measure} className="fl-detail">
        <td colSpan={body.width}>{expanded?.(row.original)}</td>
      </tr>
    );
  }
  return (
    <BodyRow
      row={row.original}
      name={body.nameOf(row.original)}
      columns={body.columns}
      place={index + 2}
      index={index}
      measure={measure}
      href={body.href?.(row.original)}
      select={
        selected && onSelect
          ? { on: selected.has(row.id), toggle: () => onSelect(toggled(selected, row.id)) }
          : undefined
      }
      detail={expanded ? { open: open.has(row.id), id, toggle: () => onOpen(toggled(open, row.id)) } : undefined}
    />
  );
}
