import { Button, Menu, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Icon } from "../icons";
import type { Column } from "./types";

type ToolbarProps<T> = {
  filter: string;
  onFilter: (text: string) => void;
  onFocus: () => void;
  filterLabel: string;
  /** "37 of 500 tenants". */
  count: string;
  columns: Column<T>[];
  hidden: ReadonlySet<string>;
  onHidden?: (hidden: ReadonlySet<string>) => void;
  onCsv?: () => void;
  actions?: ReactNode;
};

/** What stands above a table: filter, number of rows, actions, columns, export. */
export function Toolbar<T>(p: ToolbarProps<T>) {
  const { t } = useTranslation("ui");
  return (
    <div className="fl-table-bar">
      {p.filterLabel ? (
        <TextInput
          size="xs"
          type="search"
          data-filter
          aria-label={p.filterLabel}
          placeholder={p.filterLabel}
          value={p.filter}
          onFocus={p.onFocus}
          onChange={(e) => p.onFilter(e.currentTarget.value)}
          className="fl-table-filter fl-no-print"
        />
      ) : null}
      <span role="status" className="fl-table-count">
        {p.count}
      </span>
      <div className="fl-table-actions fl-no-print">
        {p.actions}
        {p.onHidden ? <ColumnMenu columns={p.columns} hidden={p.hidden} onHidden={p.onHidden} /> : null}
        {p.onCsv ? (
          <Button size="xs" variant="default" onClick={p.onCsv}>
            {t("csv")}
          </Button>
        ) : null}
      </div>
    </div>
  );
}

type ColumnMenuProps<T> = {
  columns: Column<T>[];
  hidden: ReadonlySet<string>;
  onHidden: (hidden: ReadonlySet<string>) => void;
};

/** Shows and hides columns; the first one stays, since it names the row. */
function ColumnMenu<T>({ columns, hidden, onHidden }: ColumnMenuProps<T>) {
  const { t } = useTranslation("ui");
  return (
    <Menu closeOnItemClick={false} position="bottom-end">
      <Menu.Target>
        <Button size="xs" variant="default">
          {t("table.columns")}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {columns.slice(1).map((c) => (
          <Menu.Item
            key={c.id}
            role="menuitemcheckbox"
            aria-checked={!hidden.has(c.id)}
            leftSection={
              <Icon name="check" size={14} style={{ visibility: hidden.has(c.id) ? "hidden" : undefined }} />
            }
            onClick={() => onHidden(toggled(hidden, c.id))}
          >
            {c.header}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

/** The set with `id` put in or taken out. */
export function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(id)) next.add(id);
  return next;
}
