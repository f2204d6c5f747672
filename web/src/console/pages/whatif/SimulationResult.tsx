import { Group, Progress, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useFormat } from "../../../format/useFormat";
import { StateBadge, taskLook } from "../../../ui/StateBadge";
import { QueryView } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { PlanName, TenantName } from "../../parts/links";
import { Part } from "../../parts/Part";
import { goesOn, resultOf, type Simulated } from "../plan/simulation";
import { CancelSimulation } from "./Simulations";

/** A simulation by its number: progress, then its shares beside the predicted ones. */
export function SimulationResult({ id }: { id: number }) {
  const { t } = useTranslation(["whatif", "common"]);
  const query = useQuery({
    queryKey: keys.simulations(id),
    queryFn: () => data(client.GET("/api/v1/simulations/{simulation}", { params: { path: { simulation: id } } })),
    refetchInterval: (q) => (goesOn(q.state.data) ? 2000 : false),
  });
  return (
    <Part title={t("simulation-id", { id })} aside={<StateBadge tone="simulated">{t("common:simulated")}</StateBadge>}>
      <QueryView query={query}>
        {(s) => (
          <Stack gap="sm" data-simulation={s.state}>
            <Group gap="sm">
              <StateBadge {...taskLook(s.state)}>{t(`common:task.${s.state}`)}</StateBadge>
              {s.plan ? <PlanName name={s.plan} fabric={s.fabric} /> : t("scenario")}
              {goesOn(s) ? <CancelSimulation simulation={s} /> : null}
            </Group>
            {goesOn(s) ? <Progress value={s.progress * 100} aria-label={t("progress")} /> : null}
            {s.error ? <Text className="fl-name">{s.error}</Text> : null}
            <Measured simulation={s} />
          </Stack>
        )}
      </QueryView>
    </Part>
  );
}

function Measured({ simulation: s }: { simulation: Schemas["Simulation"] }) {
  const { t } = useTranslation("whatif");
  const format = useFormat();
  const result = resultOf(s);
  const plan = useQuery({
    queryKey: keys.plan(s.fabric ?? "", s.plan ?? ""),
    queryFn: () =>
      data(
        client.GET("/api/v1/fabrics/{fabric}/plans/{plan}", {
          params: { path: { fabric: s.fabric ?? "", plan: s.plan ?? "" } },
        }),
      ),
    enabled: Boolean(result && s.fabric && s.plan),
  });
  if (!result) return s.result && !s.plan ? <Text>{t("scenario-result")}</Text> : null;
  return (
    <>
      <Text role="status">
        {t("result", {
          outside: result.tenants.filter((x) => !x.within_bound).length,
          tenants: result.tenants.length,
          worst: format.share(result.max_share_error) ?? "",
          time: format.duration(result.simulated_s) ?? "",
          seed: result.seed,
        })}
      </Text>
      <QueryView query={plan}>{(p) => <SimulatedTable id={s.id} result={result} predicted={p.tenants} />}</QueryView>
    </>
  );
}

type Row = Simulated["tenants"][number] & { predicted?: Schemas["PredictedShare"] };

function SimulatedTable({
  id,
  result,
  predicted,
}: {
  id: number;
  result: Simulated;
  predicted: Schemas["PredictedShare"][];
}) {
  const { t } = useTranslation(["whatif", "common"]);
  const format = useFormat();
  const rows = useMemo<Row[]>(() => {
    const byName = new Map(predicted.map((p) => [p.tenant, p]));
    return result.tenants.map((x) => ({ ...x, predicted: byName.get(x.tenant) }));
  }, [result, predicted]);
  const columns = useMemo<Column<Row>[]>(() => {
    const scale = format.rateScale(rows.flatMap((r) => [r.delivered_bps, r.predicted?.entitled_bps]));
    const rate = (colId: string, header: string, of: (r: Row) => number | undefined): Column<Row> => ({
      id: colId,
      header,
      unit: scale.unit,
      align: "end",
      value: (r) => {
        const bps = of(r);
        return bps === undefined ? undefined : bps / scale.divisor;
      },
      cell: (r) => <span className="fl-numeric">{scale.format(of(r))}</span>,
    });
    return [
      {
        id: "tenant",
        header: t("common:tenant"),
        value: (r) => r.tenant,
        cell: (r) => <TenantName name={r.tenant} />,
      },
      rate("entitled", t("common:entitled"), (r) => r.predicted?.entitled_bps),
      rate("predicted", t("common:predicted"), (r) => r.predicted?.predicted_bps),
      {
        id: "bound",
        header: t("bound"),
        unit: "%",
        align: "end",
        value: (r) => (r.predicted ? Math.round(r.predicted.bound * 1e4) / 100 : undefined),
        cell: (r) => <span className="fl-numeric">±{format.share(r.predicted?.bound)}</span>,
      },
      rate("simulated", t("common:simulated"), (r) => r.delivered_bps),
      {
        id: "within",
        header: t("within"),
        value: (r) => t(r.within_bound ? "common:yes" : "common:no"),
        cell: (r) => (
          <StateBadge tone={r.within_bound ? "good" : "warn"}>
            {t(r.within_bound ? "common:yes" : "common:no")}
          </StateBadge>
        ),
      },
      {
        id: "source",
        header: t("source"),
        hidden: true,
        value: () => t("source-simulated", { id, seed: result.seed }),
      },
    ];
  }, [rows, format, t, id, result.seed]);
  return (
    <DataTable
      caption={t("result-caption", { id })}
      rows={rows}
      columns={columns}
      rowId={(r) => r.tenant}
      filterLabel={rows.length < 12 ? "" : t("result-filter")}
      csvName={`simulated-${id}`}
      maxHeight="28rem"
    />
  );
}
