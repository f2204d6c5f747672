import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Sparkline } from "../../../ui/chart/Sparkline";
import type { Column } from "../../../ui/table/DataTable";
import { percentColumn, rateColumn, stateColumn } from "../../parts/columns";
import type { Measured, Tenant } from "./queries";

/** A tenant with what was measured of it. */
export type Row = Tenant & { now?: Measured; spark?: (number | null)[] };

/** The columns of the list of tenants. Rates of a column have one unit. */
export function useTenantColumns(rows: Row[], sparks: boolean): Column<Row>[] {
  const { t } = useTranslation(["tenants", "common"]);
  const f = useFormat();
  const measured = useMeasuredColumns(rows);
  const weight = useMemo(() => f.weightScale(rows.map((r) => r.weight)), [f, rows]);
  const spark = useSparkColumn(rows);
  return useMemo(
    () => [
      { id: "name", header: t("common:tenant"), value: (r) => r.name },
      stateColumn(t, (r) => r.now?.state ?? "not-measured"),
      {
        id: "weight",
        header: t("common:weight"),
        align: "end",
        value: (r) => r.weight,
        cell: (r) => weight(r.weight),
      },
      ...measured,
      ...(sparks ? [spark] : []),
      {
        id: "flows",
        header: t("flows"),
        align: "end",
        value: (r) => r.flows,
        cell: (r) => f.count(r.flows),
        minor: rows.some((r) => r.guarantee_bps || r.cap_bps),
      },
      {
        id: "ports",
        header: t("ports"),
        align: "end",
        value: (r) => r.attachments.length,
        cell: (r) => f.count(r.attachments.length),
        hidden: true,
      },
    ],
    [measured, spark, sparks, weight, rows, f, t],
  );
}

/** Limits and measured figures. */
function useMeasuredColumns(rows: Row[]): Column<Row>[] {
  const { t } = useTranslation(["tenants", "common"]);
  const f = useFormat();
  return useMemo(() => {
    const scale = f.rateScale(rows.flatMap((r) => [r.now?.entitled, r.now?.delivered, r.guarantee_bps, r.cap_bps]));
    const [guaranteed, capped] = [rows.some((r) => r.guarantee_bps), rows.some((r) => r.cap_bps)];
    const limited = guaranteed || capped; // a limit that some tenant has is worth more than the error, which the rates imply
    return [
      {
        ...rateColumn<Row>(
          scale,
          "guarantee",
          t("common:guarantee"),
          (r) => r.guarantee_bps || undefined,
          t("common:none"),
        ),
        minor: !guaranteed,
      },
      {
        ...rateColumn<Row>(scale, "cap", t("common:cap"), (r) => r.cap_bps || undefined, t("common:none")),
        minor: !capped,
      },
      rateColumn(scale, "entitled", t("common:entitled"), (r) => r.now?.entitled, t("not-in-force")),
      rateColumn(scale, "delivered", t("common:delivered"), (r) => r.now?.delivered),
      percentColumn(f, "received", t("received"), (r) => r.now?.received, t("not-contending")),
      { ...percentColumn<Row>(f, "error", t("error"), (r) => r.now?.error), minor: limited },
      {
        ...percentColumn<Row>(f, "budget", t("budget"), (r) => r.now?.budget, t("common:not-known")),
        missingWhy: t("common:budget-not-known"),
      },
    ];
  }, [rows, f, t]);
}

/** Delivered rates of the last hour, on one scale. */
function useSparkColumn(rows: Row[]): Column<Row> {
  const { t } = useTranslation("tenants");
  const f = useFormat();
  return useMemo(() => {
    const highest = rows.reduce((m, r) => (r.spark ?? []).reduce<number>((n, v) => Math.max(n, v ?? 0), m), 0);
    return {
      id: "spark",
      header: t("last-hour"),
      cell: (r) => (
        <Sparkline
          label={t("spark-of", { tenant: r.name })}
          values={r.spark ?? []}
          max={highest}
          format={(v) => f.rate(v) ?? ""}
        />
      ),
    };
  }, [rows, f, t]);
}
