import { Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { type Column, DataTable } from "../../ui/table/DataTable";
import { barColumn, changeColumns, type Making, nameColumns, predictedColumn, simulatedColumns } from "./shareColumns";
import { type PredictedShare, type ShareRow, type Simulated, shareRows } from "./shares";
import { useFigures } from "./useFigures";

type Props = {
  /** Shares of the plan that the table is about. */
  after: PredictedShare[];
  /** Shares before, such as those of the plan in force: then the table shows what changes. */
  before?: PredictedShare[];
  /** Name of the exported file without ".csv". */
  csvName?: string;
  /** What a simulation of the plan measured, for columns beside the predictions. */
  simulated?: Simulated;
};

/** Rows from which on the table has a filter. */
const filterFrom = 12;

/** What each tenant is entitled to and predicted to get, with the error bound; with `before` also what changes, the largest change first. */
export function SharesTable({ after, before, csvName = "shares", simulated }: Props) {
  const { t } = useTranslation("parts");
  const rows = useMemo(() => shareRows(after, before, simulated), [after, before, simulated]);
  const columns = useColumns(rows, before !== undefined, simulated !== undefined);
  return (
    <div data-shares={rows.length}>
      <DataTable
        caption={before ? t("shares-change") : t("shares")}
        rows={rows}
        columns={columns}
        rowId={(r) => r.tenant}
        filterLabel={rows.length < filterFrom ? "" : t("shares-filter")}
        count={(shown, total) => t("shares-count", { shown, total })}
        csvName={csvName}
        maxHeight="32rem"
      />
      <Text size="xs" c="dimmed" mt={4}>
        {t(before ? "shares-legend-change" : "shares-legend")}
      </Text>
    </div>
  );
}

function useColumns(rows: ShareRow[], changes: boolean, simulated: boolean): Column<ShareRow>[] {
  const { t } = useTranslation("parts");
  const figures = useFigures();
  return useMemo(() => {
    const rates = rows.flatMap((r) => [
      ...[r.before, r.after].flatMap((s) => (s ? [s.predicted_bps * (1 + s.bound), s.entitled_bps] : [])),
      r.simulated?.delivered_bps ?? 0,
    ]);
    const weight = figures.weightScale(rows.flatMap((r) => [r.before?.weight, r.after?.weight]));
    const m: Making = { t, figures, scale: figures.scale(rates), max: Math.max(0, ...rates), weight };
    return [
      ...nameColumns(m),
      ...(changes ? [predictedColumn(m, "before", t("predicted-before"), (r) => r.before)] : []),
      predictedColumn(m, "after", changes ? t("predicted-after") : t("predicted"), (r) => r.after),
      ...(changes ? changeColumns(m) : []),
      ...(simulated ? simulatedColumns(m) : []),
      barColumn(m),
    ];
  }, [rows, changes, simulated, t, figures]);
}
