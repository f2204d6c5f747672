import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Sparkline } from "../../../ui/chart/Sparkline";
import { measuredLook, StateBadge } from "../../../ui/StateBadge";
import type { Column } from "../../../ui/table/DataTable";
import type { Measured, Tenant } from "./queries";

/** A tenant with what was measured of it. */
export type Row = Tenant & { now?: Measured; spark?: (number | null)[]; flows?: number };

const percent = (part: number | undefined) => (part === undefined ? undefined : Math.round(part * 1e4) / 100);

/** The columns of the list of tenants. Rates of a column have one unit. */
export function useTenantColumns(rows: Row[], sparks: boolean): Column<Row>[] {
  const { t } = useTranslation(["tenants", "common"]);
  const f = useFormat();
  return useMemo(() => {
    const scale = f.rateScale(rows.flatMap((r) => [r.now?.entitled, r.now?.delivered, r.guarantee_bps, r.cap_bps]));
    const highest = rows.reduce((m, r) => (r.spark ?? []).reduce<number>((n, v) => Math.max(n, v ?? 0), m), 0);
    const figure = { unit: scale.unit, align: "end" } as const;
    const part = { unit: "%", align: "end" } as const;
    const share = (v: number | undefined) => f.share(v)?.replace(/\s*%$/, "");
    const inUnit = (bps: number | undefined) => (bps === undefined ? undefined : bps / scale.divisor);
    const limit = (id: string, header: string, of: (r: Row) => number): Column<Row> => ({
      ...figure,
      id,
      header,
      value: (r) => inUnit(of(r) || undefined),
      cell: (r) => (of(r) ? scale.format(of(r)) : undefined),
      missing: t("common:none"),
    });
    const state = (r: Row) => r.now?.state ?? "not-measured";
    return [
      { id: "name", header: t("common:tenant"), value: (r) => r.name },
      {
        id: "weight",
        header: t("common:weight"),
        align: "end",
        value: (r) => r.weight,
        cell: (r) => f.weight(r.weight),
      },
      limit("guarantee", t("common:guarantee"), (r) => r.guarantee_bps),
      limit("cap", t("common:cap"), (r) => r.cap_bps),
      {
        ...figure,
        id: "entitled",
        header: t("common:entitled"),
        value: (r) => inUnit(r.now?.entitled),
        cell: (r) => scale.format(r.now?.entitled),
        missing: t("not-in-force"),
      },
      {
        ...figure,
        id: "delivered",
        header: t("common:delivered"),
        value: (r) => inUnit(r.now?.delivered),
        cell: (r) => scale.format(r.now?.delivered),
      },
      {
        ...part,
        id: "received",
        header: t("received"),
        value: (r) => percent(r.now?.received),
        cell: (r) => share(r.now?.received),
        missing: t("not-contending"),
      },
      {
        ...part,
        id: "error",
        header: t("error"),
        value: (r) => percent(r.now?.error),
        cell: (r) => share(r.now?.error),
      },
      {
        id: "state",
        header: t("common:state"),
        value: (r) => t(`common:measured.${state(r)}`, { defaultValue: state(r) }),
        cell: (r) => (
          <StateBadge {...measuredLook(state(r))}>
            {t(`common:measured.${state(r)}`, { defaultValue: state(r) })}
          </StateBadge>
        ),
      },
      {
        ...part,
        id: "budget",
        header: t("budget"),
        value: (r) => percent(r.now?.budget),
        cell: (r) => share(r.now?.budget),
        missing: t("budget-unknown"),
      },
      ...(sparks
        ? [
            {
              id: "spark",
              header: t("last-hour"),
              cell: (r: Row) => (
                <Sparkline
                  label={t("spark-of", { tenant: r.name })}
                  values={r.spark ?? []}
                  max={highest}
                  format={(v) => f.rate(v) ?? ""}
                />
              ),
            },
          ]
        : []),
      { id: "flows", header: t("flows"), align: "end", value: (r) => r.flows, cell: (r) => f.count(r.flows) },
      {
        id: "ports",
        header: t("ports"),
        align: "end",
        value: (r) => r.attachments.length,
        cell: (r) => f.count(r.attachments.length),
        hidden: true,
      },
    ];
  }, [rows, sparks, f, t]);
}
