import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Icon, type IconName } from "../icons";
import { moved, zoomed } from "./series";
import type { TimeRange } from "./types";

type ChartToolsProps = {
  title: string;
  range: TimeRange;
  now?: number;
  onRange: (range: TimeRange) => void;
  reset?: () => void;
  table: boolean;
  onTable: () => void;
  onCsv?: () => void;
};

/** Buttons for all that a drag does, the table twin and the export. */
export function ChartTools({ title, range, now, onRange, reset, table, onTable, onCsv }: ChartToolsProps) {
  const { t } = useTranslation("ui");
  return (
    <div className="fl-chart-tools fl-no-print">
      <fieldset className="fl-chart-range" aria-label={t("chart.tools", { title })}>
        {reset ? (
          <Button size="xs" variant="subtle" onClick={reset}>
            {t("chart.reset")}
          </Button>
        ) : null}
        <Tool label={t("chart.earlier")} icon="earlier" onClick={() => onRange(moved(range, -0.5))} />
        <Tool
          label={t("chart.later")}
          icon="later"
          disabled={now !== undefined && range.to >= now}
          onClick={() => onRange(moved(range, 0.5, now))}
        />
        <Tool label={t("chart.zoom-in")} icon="plus" onClick={() => onRange(zoomed(range, 0.5))} />
        <Tool label={t("chart.zoom-out")} icon="dash" onClick={() => onRange(zoomed(range, 2, now))} />
      </fieldset>
      <Button size="xs" variant={table ? "filled" : "default"} aria-pressed={table} onClick={onTable}>
        {t("chart.table")}
      </Button>
      {onCsv ? (
        <Button size="xs" variant="default" onClick={onCsv}>
          {t("csv")}
        </Button>
      ) : null}
    </div>
  );
}

function Tool({
  label,
  icon,
  disabled,
  onClick,
}: {
  label: string;
  icon: IconName;
  disabled?: boolean;
  onClick: () => void;
}) {
  return (
    <button type="button" className="fl-tool" aria-label={label} title={label} disabled={disabled} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
