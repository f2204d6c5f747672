import { Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "../../../api/keys";
import { instant, quoted, range, type Sample, type Series, stepOf } from "../../../api/prom";
import { useFormat } from "../../../format/useFormat";
import { isSimulated, useFabrics } from "../../../shell/fabrics";
import { LazyTimeChart } from "../../../ui/chart/LazyTimeChart";
import { useNow } from "../../../ui/now";
import { StateBadge } from "../../../ui/StateBadge";
import { QueryView } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { Why } from "../../../ui/Why";
import { PlanName, TenantName } from "../../parts/links";
import { type Plan, usePlan } from "../../parts/plans";
import type { Rollout } from "./model";

/** Seconds of the chart before the rollout, and after its end at most. */
const before = 600;
const after = 1800;

const delivered = (fabric: string) => `fairlane_tenant_delivered_bits_per_second{fabric=${quoted(fabric)}}`;
const entitled = (fabric: string) => `fairlane_tenant_entitled_bits_per_second{fabric=${quoted(fabric)}}`;

/** What the tenants received before and after the rollout, as a chart with its marks and as a table. */
export function Measured({ rollout: ro }: { rollout: Rollout }) {
  const { t } = useTranslation("rollouts");
  const { rateScale } = useFormat();
  const fabrics = useFabrics();
  const simulated = isSimulated(fabrics.data?.find((f) => f.name === ro.fabric));
  const start = Math.floor(Date.parse(ro.created_at) / 1000);
  const end = ro.finished_at ? Math.ceil(Date.parse(ro.finished_at) / 1000) : undefined;
  const now = useNow(15) / 1000;
  const from = start - before;
  const to = Math.min(now, (end ?? now) + after);
  const step = stepOf(from, to);
  const chart = useQuery({
    queryKey: keys.series("rollout", ro.fabric, ro.id, from, Math.floor(to / step)),
    queryFn: ({ signal }) => range(delivered(ro.fabric), from, Math.floor(to), step, signal),
    placeholderData: (old) => old,
    staleTime: 15_000,
  });
  const scale = rateScale((chart.data ?? []).flatMap((s) => s.values));
  return (
    <Stack gap="md">
      <QueryView query={chart}>
        {(list) =>
          list.length === 0 ? (
            <Text c="dimmed">{t("measured-none")}</Text>
          ) : (
            <LazyTimeChart
              title={t("measured-chart")}
              summary={t("measured-summary", { tenants: list.length, unit: scale.unit })}
              unit={scale.unit}
              times={list[0]?.times ?? []}
              series={lines(list, scale.divisor)}
              marks={[
                { at: start, label: t("mark-start", { id: ro.id }), kind: "rollout" },
                ...(end
                  ? [
                      {
                        at: end,
                        label: t("mark-end", { id: ro.id, state: t(`words:rollout.${ro.state}`) }),
                        kind: "rollout",
                      },
                    ]
                  : []),
              ]}
              range={{ from, to: Math.floor(to) }}
              fromFirst
              csvName={`${ro.fabric}-rollout-${ro.id}-delivered`}
              simulated={simulated}
              beyond="leave-out"
            />
          )
        }
      </QueryView>
      <MeasuredTable rollout={ro} start={start} simulated={simulated} />
    </Stack>
  );
}

const lines = (list: Series[], divisor: number) =>
  [...list]
    .sort((a, b) => (a.labels.tenant ?? "").localeCompare(b.labels.tenant ?? ""))
    .map((s) => ({
      label: s.labels.tenant ?? "",
      values: s.values.map((v) => (v === null ? null : v / divisor)),
      kind: "line" as const,
    }));

type Rates = { entitledBefore: number; before: number; entitled: number; predicted: number; now: number };

type Row = { tenant: string } & Partial<Rates>;

/** Seconds over which the rates before and now are averaged, at most; and at least, since rates are stored every few seconds. */
const mean = { most: 60, least: 15 };

/** Rates just before the rollout, which no longer change, and now. */
function useRates(ro: Rollout, start: number) {
  const before = useQuery({
    queryKey: keys.series("rollout-before", ro.fabric, start),
    queryFn: async ({ signal }) => {
      const [entitledBefore, before] = await Promise.all([
        instant(`last_over_time(${entitled(ro.fabric)}[${mean.most}s])`, start, signal),
        instant(`avg_over_time(${delivered(ro.fabric)}[${mean.most}s])`, start, signal),
      ]);
      return { entitledBefore, before };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  const changed = (ro.devices ?? []).reduce((last, d) => Math.max(last, Date.parse(d.updated_at) / 1000), start);
  const now = useQuery({
    queryKey: keys.series("rollout-now", ro.fabric, changed),
    queryFn: async ({ signal }) => {
      // Of the time since the last write only: a mean over both plans is that of neither.
      const seconds = Math.round(Math.min(mean.most, Math.max(mean.least, Date.now() / 1000 - changed)));
      const query = `avg_over_time(${delivered(ro.fabric)}[${seconds}s])`;
      return { seconds, now: await instant(query, undefined, signal) };
    },
    placeholderData: (old) => old,
    refetchInterval: 15_000,
  });
  return { before, now };
}

/** The rates by tenant, beside what the plan of the rollout entitles each to. */
function rowsOf(rates: Partial<Record<keyof Rates, Sample[]>>, plan: Plan | undefined): Row[] {
  const out = new Map<string, Row>();
  const put = (tenant: string, field: keyof Rates, value: number) => {
    if (Number.isFinite(value)) out.set(tenant, { ...(out.get(tenant) ?? { tenant }), [field]: value });
  };
  for (const [field, samples] of Object.entries(rates))
    for (const s of samples) put(s.labels.tenant ?? "", field as keyof Rates, s.value);
  for (const s of plan?.tenants ?? []) {
    put(s.tenant, "entitled", s.entitled_bps);
    put(s.tenant, "predicted", s.predicted_bps);
  }
  return [...out.values()].sort((x, y) => x.tenant.localeCompare(y.tenant));
}

type TableProps = { rollout: Rollout; start: number; simulated: boolean };

function MeasuredTable({ rollout: ro, start, simulated }: TableProps) {
  const { t } = useTranslation(["rollouts", "common"]);
  const { before, now } = useRates(ro, start);
  const plan = usePlan(ro.fabric, ro.to ? undefined : ro.plan).data;
  const rows = useMemo(
    () => rowsOf({ ...before.data, ...(now.data && { now: now.data.now }) }, plan),
    [before.data, now.data, plan],
  );
  const seconds = now.data?.seconds ?? mean.most;
  const columns = useColumns(ro, rows, seconds);
  const table = () => (
    <Stack gap="xs">
      <Group gap="sm">
        <Text size="sm">{t("measured-table-why", { most: mean.most, seconds })}</Text>
        {simulated ? <StateBadge tone="simulated">{t("common:simulated")}</StateBadge> : null}
      </Group>
      <DataTable
        caption={t("measured-table")}
        rows={rows}
        columns={columns}
        rowId={(r) => r.tenant}
        filterLabel={rows.length > 10 ? t("measured-filter") : ""}
        csvName={`${ro.fabric}-rollout-${ro.id}-shares`}
        empty={<Text c="dimmed">{t("measured-none")}</Text>}
      />
    </Stack>
  );
  return <QueryView query={before}>{() => <QueryView query={now}>{table}</QueryView>}</QueryView>;
}

function useColumns(ro: Rollout, rows: Row[], seconds: number): Column<Row>[] {
  const { t } = useTranslation(["rollouts", "common"]);
  const { rateScale, signedPercent } = useFormat();
  return useMemo(() => {
    const scale = rateScale(rows.flatMap((r) => [r.entitled, r.entitledBefore, r.before, r.now]));
    const formulas: Partial<Record<keyof Rates, string>> = {
      entitledBefore: entitled(ro.fabric),
      before: `avg_over_time(${delivered(ro.fabric)}[${mean.most}s])`,
      now: `avg_over_time(${delivered(ro.fabric)}[${seconds}s])`,
    };
    const rate = (id: keyof Rates): Column<Row> => ({
      id,
      header: t(`measured.${id}`),
      unit: scale.unit,
      align: "end",
      value: (r) => (r[id] === undefined ? undefined : Math.round((r[id] / scale.divisor) * 1e4) / 1e4),
      cell: (r) =>
        r[id] === undefined ? undefined : (
          <Why
            reasoning={{
              of: `${t(`measured.${id}`)}: ${r.tenant}`,
              value: `${scale.format(r[id])} ${scale.unit}`,
              sentence: t(`measured-why.${id}`, { seconds: id === "now" ? seconds : mean.most }),
              formula: formulas[id],
              revision: id === "entitled" || id === "predicted" ? <PlanName name={ro.plan} /> : undefined,
            }}
          >
            <span className="fl-numeric">{scale.format(r[id])}</span>
          </Why>
        ),
    });
    const error = (r: Row) => (r.now === undefined || !r.entitled ? undefined : (r.now - r.entitled) / r.entitled);
    return [
      { id: "tenant", header: t("common:tenant"), value: (r) => r.tenant, cell: (r) => <TenantName name={r.tenant} /> },
      rate("entitledBefore"),
      rate("before"),
      ...(ro.to ? [] : [rate("entitled"), rate("predicted")]),
      rate("now"),
      {
        id: "error",
        header: t("measured.error"),
        unit: "%",
        align: "end",
        value: (r) => {
          const e = error(r);
          return e === undefined ? undefined : Math.round(e * 1000) / 10;
        },
        cell: (r) => signedPercent(error(r)),
      },
    ];
  }, [rows, rateScale, signedPercent, t, ro.fabric, ro.plan, ro.to, seconds]);
}
