import { Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "../../../api/keys";
import { instant, quoted, range, type Series, stepOf } from "../../../api/prom";
import { useFormat } from "../../../format/useFormat";
import { isSimulated, useFabrics } from "../../../shell/fabrics";
import { LazyTimeChart } from "../../../ui/chart/LazyTimeChart";
import { useNow } from "../../../ui/now";
import { StateBadge } from "../../../ui/StateBadge";
import { QueryView } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { Why } from "../../../ui/Why";
import { TenantName } from "../../parts/links";
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
  const largest = (chart.data ?? []).flatMap((s) => s.values);
  const scale = rateScale(largest);
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
                        label: t("mark-end", { id: ro.id, state: t(`common:rollout.${ro.state}`) }),
                        kind: "rollout",
                      },
                    ]
                  : []),
              ]}
              range={{ from, to: Math.floor(to) }}
              csvName={`${ro.fabric}-rollout-${ro.id}-delivered`}
              simulated={simulated}
              beyond="leave-out"
            />
          )
        }
      </QueryView>
      <MeasuredTable rollout={ro} start={start} end={end} simulated={simulated} />
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

type Row = { tenant: string; entitledBefore?: number; entitled?: number; before?: number; now?: number };

/** Seconds over which the rates before and now are averaged. */
const mean = 60;

/** Entitled and delivered rates just before the rollout and now, by tenant. */
function useMeasured(fabric: string, start: number) {
  const minute = useNow(15) / 1000;
  return useQuery({
    queryKey: keys.series("rollout-table", fabric, start, minute),
    queryFn: async ({ signal }) => {
      const average = `avg_over_time(${delivered(fabric)}[${mean}s])`;
      const [eb, e, b, n] = await Promise.all([
        instant(`last_over_time(${entitled(fabric)}[${mean}s])`, start, signal),
        instant(entitled(fabric), undefined, signal),
        instant(average, start, signal),
        instant(average, undefined, signal),
      ]);
      const rows = new Map<string, Row>();
      const put = (samples: typeof e, field: Exclude<keyof Row, "tenant">) => {
        for (const s of samples) {
          const tenant = s.labels.tenant ?? "";
          const row = rows.get(tenant) ?? { tenant };
          if (Number.isFinite(s.value)) row[field] = s.value;
          rows.set(tenant, row);
        }
      };
      put(eb, "entitledBefore");
      put(e, "entitled");
      put(b, "before");
      put(n, "now");
      return [...rows.values()].sort((x, y) => x.tenant.localeCompare(y.tenant));
    },
    placeholderData: (old) => old,
    staleTime: 15_000,
  });
}

type TableProps = { rollout: Rollout; start: number; end: number | undefined; simulated: boolean };

function MeasuredTable({ rollout: ro, start, simulated }: TableProps) {
  const { t } = useTranslation(["rollouts", "common"]);
  const { rateScale, signedShare } = useFormat();
  const rows = useMeasured(ro.fabric, start);
  const columns = useMemo<Column<Row>[]>(() => {
    const list = rows.data ?? [];
    const scale = rateScale(list.flatMap((r) => [r.entitled, r.entitledBefore, r.before, r.now]));
    const rate = (id: Exclude<keyof Row, "tenant">): Column<Row> => ({
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
              sentence: t(`measured-why.${id}`, { seconds: mean }),
              formula:
                id === "before" || id === "now"
                  ? `avg_over_time(${delivered(ro.fabric)}[${mean}s])`
                  : entitled(ro.fabric),
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
      rate("entitled"),
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
        cell: (r) => signedShare(error(r)),
      },
    ];
  }, [rows.data, rateScale, signedShare, t, ro.fabric]);
  return (
    <QueryView query={rows}>
      {(list) => (
        <Stack gap="xs">
          <Group gap="sm">
            <Text size="sm">{t("measured-table-why", { seconds: mean })}</Text>
            {simulated ? <StateBadge tone="simulated">{t("common:simulated")}</StateBadge> : null}
          </Group>
          <DataTable
            caption={t("measured-table")}
            rows={list}
            columns={columns}
            rowId={(r) => r.tenant}
            filterLabel={list.length > 10 ? t("measured-filter") : ""}
            csvName={`${ro.fabric}-rollout-${ro.id}-shares`}
            empty={<Text c="dimmed">{t("measured-none")}</Text>}
          />
        </Stack>
      )}
    </QueryView>
  );
}
