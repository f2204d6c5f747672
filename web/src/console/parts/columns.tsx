import type { RateScale } from "../../format/units";
import type { useFormat } from "../../format/useFormat";
import { measuredLook, StateBadge } from "../../ui/StateBadge";
import type { Column } from "../../ui/table/DataTable";

type Format = ReturnType<typeof useFormat>;

/** A column of rates in the unit of `scale`. */
export const rateColumn = <T,>(
  scale: RateScale,
  id: string,
  header: string,
  of: (row: T) => number | undefined,
  missing?: string,
): Column<T> => ({
  id,
  header,
  unit: scale.unit,
  align: "end",
  value: (row) => {
    const bps = of(row);
    return bps === undefined ? undefined : bps / scale.divisor;
  },
  cell: (row) => scale.format(of(row)),
  missing,
});

/** A column of fractions, in percent. */
export const percentColumn = <T,>(
  format: Format,
  id: string,
  header: string,
  of: (row: T) => number | undefined,
  missing?: string,
): Column<T> => ({
  id,
  header,
  unit: "%",
  align: "end",
  value: (row) => {
    const part = of(row);
    return part === undefined ? undefined : Math.round(part * 1e4) / 100;
  },
  cell: (row) => format.percent(of(row)),
  missing,
});

type Words = (key: string, options?: { defaultValue: string }) => string;

/** A column of measured states of tenants. `t` has the namespace "common". */
export function stateColumn<T>(t: Words, of: (row: T) => string): Column<T> {
  const word = (row: T) => t(`common:measured.${of(row)}`, { defaultValue: of(row) });
  return {
    id: "state",
    header: t("common:state"),
    value: word,
    cell: (row) => <StateBadge {...measuredLook(of(row))}>{word(row)}</StateBadge>,
  };
}
