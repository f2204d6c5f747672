import { Button, Progress } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { StateBadge } from "../../../ui/StateBadge";
import { Empty } from "../../../ui/states";
import { type Column, DataTable, type Sort } from "../../../ui/table/DataTable";
import { BudgetNotKnown } from "../../../ui/values";
import { TenantName } from "../../parts/links";
import { type Budget, windows } from "./queries";

type Props = {
  fabric: string;
  budgets: Budget[];
  chosen: string;
  onChoose: (tenant: string) => void;
  filter: string;
  onFilter: (filter: string) => void;
  sort: Sort | undefined;
  onSort: (sort: Sort | undefined) => void;
};

/** Budgets of all tenants: objective, what is left, and how fast it is used in several windows. */
export function BudgetTable({ fabric, budgets, chosen, onChoose, ...state }: Props) {
  const { t } = useTranslation(["alerts", "common"]);
  const format = useFormat();
  const columns = useMemo<Column<Budget>[]>(
    () => [
      { id: "tenant", header: t("common:tenant"), value: (b) => b.tenant, cell: (b) => <TenantName name={b.tenant} /> },
      {
        id: "objective",
        header: t("objective"),
        value: (b) => b.objective.target,
        cell: (b) =>
          t("objective-is", {
            target: format.share(b.objective.target) ?? "",
            bound: format.share(b.objective.bound) ?? "",
          }),
      },
      { id: "source", header: t("source"), hidden: true, value: (b) => t(`source.${b.objective.source}`) },
      {
        id: "left",
        header: t("left"),
        unit: "%",
        align: "end",
        value: (b) => (b.left === undefined ? undefined : b.left * 100),
        cell: (b) =>
          b.left === undefined ? <BudgetNotKnown /> : <Left left={b.left} text={format.percent(b.left) ?? ""} />,
      },
      ...windows.map(
        (w): Column<Budget> => ({
          id: `burn-${w.name}`,
          header: t("burn-in", { window: format.duration(w.seconds) ?? "" }),
          align: "end",
          missing: t("burn-none"),
          value: (b) => b.burn[w.name],
          cell: (b) => <Burn budget={b} rate={b.burn[w.name]} limit={w.limit} />,
        }),
      ),
      {
        id: "chart",
        header: t("chart"),
        cell: (b) => (
          <Button
            size="compact-sm"
            variant={b.tenant === chosen ? "filled" : "default"}
            aria-pressed={b.tenant === chosen}
            aria-label={t("chart-show-of", { tenant: b.tenant })}
            onClick={() => onChoose(b.tenant === chosen ? "" : b.tenant)}
          >
            {t("chart-show")}
          </Button>
        ),
      },
    ],
    [t, format, chosen, onChoose],
  );
  return (
    <DataTable
      caption={t("budgets")}
      rows={budgets}
      columns={columns}
      rowId={(b) => b.tenant}
      filterLabel={t("budgets-filter")}
      csvName={`${fabric}-budgets`}
      empty={<Empty title={t("budgets-none")} why={t("budgets-none-why")} />}
      maxHeight="32rem"
      columnMenu
      {...state}
    />
  );
}

function Left({ left, text }: { left: number; text: string }) {
  const { t } = useTranslation("alerts");
  if (left <= 0) return <StateBadge tone="bad">{t("exhausted", { left: text })}</StateBadge>;
  return (
    <span className="fl-numeric">
      {text}
      <Progress value={Math.max(0, Math.min(100, left * 100))} size="xs" aria-hidden="true" />
    </span>
  );
}

/** A burn rate beside the rate at which an alert fires. Without a rate, a tenant whose budget is known did not contend. */
function Burn({ budget, rate, limit }: { budget: Budget; rate: number | undefined; limit: number }) {
  const { t } = useTranslation("alerts");
  const format = useFormat();
  if (rate === undefined) return budget.left === undefined ? <BudgetNotKnown /> : t("not-contended");
  const text = format.fixed(rate, 2) ?? "";
  if (rate >= limit) return <StateBadge tone="bad">{t("burn-over", { rate: text, limit })}</StateBadge>;
  return <span className="fl-numeric">{text}</span>;
}
