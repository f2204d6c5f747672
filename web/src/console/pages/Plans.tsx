import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../api/client";
import { useFabricName, useFabrics } from "../../shell/fabrics";
import { useCan } from "../../shell/me";
import { shellWord } from "../../ui/CopyAs";
import { Page } from "../../ui/Page";
import { StateBadge, type Tone } from "../../ui/StateBadge";
import { Empty, QueryView } from "../../ui/states";
import { type Column, DataTable, type Sort } from "../../ui/table/DataTable";
import { sortOf, sortText } from "../../ui/table/sort";
import { useUrlState } from "../../ui/useUrlState";
import { When } from "../../ui/When";
import { ActionButton } from "../parts/ActionButton";
import { useInForce } from "../parts/inForce";
import { PlanName, shortPlan } from "../parts/links";
import { usePlans } from "../parts/plans";
import { useFigures } from "../parts/useFigures";
import { CompileDialog } from "./plan/CompileDialog";

type Summary = Schemas["PlanSummary"];

/** Stored plans, the one in force marked, and the dialog that compiles a new one. */
export default function Plans() {
  const { t } = useTranslation(["plans", "shell"]);
  const fabric = useFabricName();
  const plans = usePlans(fabric);
  const inForce = useInForce(fabric);
  const [url, setUrl] = useUrlState({ compile: "", filter: "", sort: "" });
  const can = useCan();
  const answer = !inForce.known
    ? undefined
    : inForce.plan
      ? t("list-answer", {
          n: plans.data?.length ?? 0,
          plan: shortPlan(inForce.plan.name),
          revision: inForce.plan.policy,
        })
      : t("list-answer-none", { n: plans.data?.length ?? 0 });
  const compile = (
    <ActionButton allowed={can("plan", "write", fabric)} onClick={() => setUrl({ compile: "now" })}>
      {t("compile")}
    </ActionButton>
  );
  return (
    <Page
      title={t("shell:nav.plans")}
      answer={plans.data && answer}
      actions={compile}
      copy={{ command: `fairlane plan list --fabric ${shellWord(fabric)}`, api: `GET /api/v1/fabrics/${fabric}/plans` }}
      ready={plans.data !== undefined && inForce.known}
    >
      <QueryView query={plans}>
        {(list) => (
          <PlanTable
            list={list}
            inForce={inForce.plan?.name}
            filter={url.filter}
            onFilter={(filter) => setUrl({ filter })}
            sort={sortOf(url.sort)}
            onSort={(sort) => setUrl({ sort: sortText(sort) })}
          />
        )}
      </QueryView>
      {url.compile ? (
        <CompileDialog
          fabric={fabric}
          policy={url.compile === "now" ? undefined : Number(url.compile)}
          onClose={() => setUrl({ compile: "" })}
        />
      ) : null}
    </Page>
  );
}

type TableProps = {
  list: Summary[];
  inForce: string | undefined;
  filter: string;
  onFilter: (filter: string) => void;
  sort: Sort | undefined;
  onSort: (sort: Sort | undefined) => void;
};

function PlanTable({ list, inForce, ...state }: TableProps) {
  const { t } = useTranslation("plans");
  const fabric = useFabricName();
  const snapshot = useFabrics().data?.find((f) => f.name === fabric)?.snapshot?.sha256;
  const { number, percent } = useFigures();
  const columns = useMemo<Column<Summary>[]>(
    () => [
      { id: "plan", header: t("plan"), value: (p) => p.name, cell: (p) => <PlanName name={p.name} /> },
      {
        id: "state",
        header: t("state"),
        value: (p) => t(stateOf(p, inForce, snapshot)),
        cell: (p) => {
          const state = stateOf(p, inForce, snapshot);
          return <StateBadge tone={tones[state]}>{t(state)}</StateBadge>;
        },
      },
      { id: "created", header: t("created"), value: (p) => p.created_at, cell: (p) => <When at={p.created_at} /> },
      { id: "tenants", header: t("tenants"), align: "end", value: (p) => p.tenants, cell: (p) => number(p.tenants) },
      { id: "devices", header: t("devices"), align: "end", value: (p) => p.devices, cell: (p) => number(p.devices) },
      {
        id: "findings",
        header: t("findings"),
        align: "end",
        value: (p) => p.findings,
        cell: (p) => <StateBadge tone={p.findings > 0 ? "warn" : "good"}>{number(p.findings)}</StateBadge>,
      },
      {
        id: "error",
        header: t("max-error"),
        unit: "%",
        align: "end",
        value: (p) => Math.round(p.max_predicted_error * 1e4) / 100,
        cell: (p) => percent(p.max_predicted_error),
      },
    ],
    [t, inForce, snapshot, number, percent],
  );
  return (
    <DataTable
      caption={t("list-caption")}
      rows={list}
      columns={columns}
      rowId={(p) => p.name}
      count={(shown, total) => t("list-count", { shown, total })}
      filterLabel={t("list-filter")}
      csvName={`${fabric}-plans`}
      empty={<Empty title={t("list-empty")} why={t("list-empty-why")} />}
      {...state}
    />
  );
}

type StateName = "in-force" | "old-snapshot" | "stored";

const tones: Record<StateName, Tone> = { "in-force": "good", "old-snapshot": "warn", stored: "neutral" };

const stateOf = (p: Summary, inForce: string | undefined, snapshot: string | undefined): StateName =>
  p.name === inForce ? "in-force" : snapshot && p.snapshot !== snapshot ? "old-snapshot" : "stored";
