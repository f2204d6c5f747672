import { Button, Group } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "../../api/keys";
import { stepOf } from "../../api/prom";
import type { CopyAsProps } from "../../ui/CopyAs";
import {
  lengths,
  parseRange,
  RangePicker,
  type RangeValue,
  rangeSearch,
  resolveRange,
} from "../../ui/chart/rangePicker";
import { Page } from "../../ui/Page";
import { QueryView } from "../../ui/states";
import { useUrlState } from "../../ui/useUrlState";
import { OwnChart } from "../OwnChart";
import { isoSecond, monthOf } from "../report";
import { ownSeries, selector } from "../series";
import { titleOf, useTenantName } from "../tenant";
import type { MyTenant } from "../tenants";
import { MonthReport, thisMonth, useReport } from "./history/MonthReport";
import { HistoryAnswer, Summary, summaryOf } from "./history/Summary";

const defaults = { last: "24h", from: "", to: "", view: "chart", month: "" };

export default function History() {
  const { t } = useTranslation(["history", "shell"]);
  const m = useTenantName();
  const [state, setState] = useUrlState(defaults);
  const report = state.view === "report";
  const value = useMemo(() => parseRange(state, { last: "24h" }), [state]);
  const { chart, summary } = useHistory(value, !report);
  const setRange = (next: RangeValue) => setState(rangeSearch(next));
  const month = state.month || thisMonth();
  const monthReport = useReport(month, report);
  return (
    <Page
      title={titleOf(m, t("shell:nav.history"))}
      answer={!report && summary.data ? <HistoryAnswer summary={summary.data} /> : null}
      actions={
        <Group gap="xs">
          <Button
            variant={report ? "default" : "light"}
            aria-pressed={!report}
            onClick={() => setState({ view: "chart" }, true)}
          >
            {t("chart")}
          </Button>
          <Button
            variant={report ? "light" : "default"}
            aria-pressed={report}
            onClick={() => setState({ view: "report" }, true)}
          >
            {t("report")}
          </Button>
        </Group>
      }
      copy={report ? reportCopy(m, month) : rangeCopy(m, value)}
      ready={report ? !monthReport.isPending : !chart.isPending && !summary.isPending}
    >
      {report ? (
        <MonthReport
          month={month}
          onMonth={(next) => setState({ month: next === thisMonth() ? "" : next })}
          report={monthReport}
        />
      ) : (
        <HistoryView value={value} setRange={setRange} chart={chart} summary={summary} />
      )}
    </Page>
  );
}

/** The command and the request of a view. A view sends several requests: this is the main one. */
function reportCopy(m: MyTenant, month: string): CopyAsProps {
  const { from, end } = monthOf(month) ?? { from: 0, end: 0 };
  return {
    command: `fairlane share report --month ${month} --tenant ${m.tenant} --fabric ${m.fabric}`,
    api: rangeRequest(`count_over_time(${selector("fairlane_tenant_state", m)}[1d])`, from + 86_400, end, 86_400),
  };
}

function rangeCopy(m: MyTenant, value: RangeValue): CopyAsProps {
  const { from, to } = resolveRange(value, Date.now() / 1000);
  const span =
    "last" in value ? `--since ${lengths[value.last] / 3600}h` : `--since ${isoSecond(from)} --until ${isoSecond(to)}`;
  return {
    command: `fairlane share history --step auto ${span} --tenant ${m.tenant} --fabric ${m.fabric}`,
    api: rangeRequest(selector("fairlane_tenant_delivered_bits_per_second", m), from, to, stepOf(from, to)),
  };
}

const rangeRequest = (query: string, start: number, end: number, step: number) =>
  `GET /api/v1/prometheus/api/v1/query_range?${new URLSearchParams({ query, start: `${start}`, end: `${end}`, step: `${step}` })}`;

function useHistory(value: RangeValue, enabled: boolean) {
  const m = useTenantName();
  const range = () => resolveRange(value, Date.now() / 1000);
  const chart = useQuery({
    queryKey: keys.series("history", m.fabric, m.tenant, value),
    queryFn: ({ signal }) => {
      const r = range();
      return ownSeries(m, r, stepOf(r.from, r.to), signal);
    },
    enabled,
    placeholderData: keepPreviousData,
  });
  const summary = useQuery({
    queryKey: keys.series("summary", m.fabric, m.tenant, value),
    queryFn: ({ signal }) => summaryOf(m, range(), signal),
    enabled,
    placeholderData: keepPreviousData,
  });
  return { chart, summary };
}

type ViewProps = { value: RangeValue; setRange: (next: RangeValue) => void } & ReturnType<typeof useHistory>;

function HistoryView({ value, setRange, chart, summary }: ViewProps) {
  const { t } = useTranslation("history");
  const m = useTenantName();
  return (
    <>
      <RangePicker value={value} onChange={setRange} />
      <QueryView query={summary}>{(s) => <Summary summary={s} />}</QueryView>
      <QueryView query={chart}>
        {(series) => (
          <OwnChart
            title={t("rates")}
            series={series}
            range={"last" in value ? undefined : value}
            moving={"last" in value}
            onRange={(from, to) => setRange({ from, to })}
            csvName={`fairlane-${m.tenant}-history`}
          />
        )}
      </QueryView>
    </>
  );
}
