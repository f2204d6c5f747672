import type { RateScale } from "../../../format/units";
import type { useFormat } from "../../../format/useFormat";
import type { Column } from "../../../ui/table/DataTable";
import { NotMeasured } from "../../../ui/values";

/** A column of fractions in percent. */
export function percentColumn<T>(
  format: ReturnType<typeof useFormat>,
  id: string,
  header: string,
  fraction: (row: T) => number | undefined,
): Column<T> {
  return {
    id,
    header,
    unit: "%",
    align: "end",
    value: (row) => {
      const part = fraction(row);
      return part === undefined ? undefined : Math.round(part * 1000) / 10;
    },
    cell: (row) => format.percent(fraction(row)) ?? <NotMeasured />,
  };
}

/** A column of rates in the one unit of the table. */
export function rateColumn<T>(
  scale: RateScale,
  id: string,
  header: string,
  bps: (row: T) => number | undefined,
): Column<T> {
  return {
    id,
    header,
    unit: scale.unit,
    align: "end",
    value: (row) => {
      const rate = bps(row);
      return rate === undefined ? undefined : rate / scale.divisor;
    },
    cell: (row) => scale.format(bps(row)) ?? <NotMeasured />,
  };
}
