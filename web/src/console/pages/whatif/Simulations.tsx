import { Button, Checkbox, Group, NativeSelect, NumberInput, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useCan } from "../../../shell/me";
import { ProblemNote } from "../../../ui/ProblemNote";
import { StateBadge, taskLook } from "../../../ui/StateBadge";
import { Empty, QueryView } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useActor } from "../../../ui/useActor";
import { useOperationKey } from "../../../ui/useOperationKey";
import { When } from "../../../ui/When";
import { ActionButton } from "../../parts/ActionButton";
import { useInForce } from "../../parts/inForce";
import { PlanName, shortPlan, To } from "../../parts/links";
import { Part } from "../../parts/Part";
import { isActive } from "../plan/simulation";

type Simulation = Schemas["Simulation"];

type Props = {
  fabric: string;
  /** The edits in the page's address, which stay when the reader opens a simulation. */
  edits: string;
  onOpen: (id: string) => void;
};

/** Past simulations of the fabric, and the form that starts one. */
export function Simulations({ fabric, edits, onOpen }: Props) {
  const { t } = useTranslation("whatif");
  const list = useQuery({
    queryKey: keys.simulations("list"),
    queryFn: () => data(client.GET("/api/v1/simulations", { params: { query: { limit: 1000 } } })),
    refetchInterval: (q) => (q.state.data?.items.some(isActive) ? 2000 : false),
  });
  return (
    <Part title={t("simulations")}>
      <Stack gap="sm">
        <StartSimulation fabric={fabric} onStarted={onOpen} />
        <QueryView query={list}>
          {(l) => <SimulationTable items={l.items.filter((s) => !s.fabric || s.fabric === fabric)} edits={edits} />}
        </QueryView>
      </Stack>
    </Part>
  );
}

function SimulationTable({ items, edits }: { items: Simulation[]; edits: string }) {
  const { t } = useTranslation(["whatif", "common"]);
  const actor = useActor();
  const columns = useMemo<Column<Simulation>[]>(
    () => [
      {
        id: "id",
        header: t("simulation"),
        value: (s) => s.id,
        cell: (s) => (
          <To to="." search={{ edits, simulation: String(s.id) }}>
            {t("simulation-id", { id: s.id })}
          </To>
        ),
      },
      {
        id: "state",
        header: t("common:state"),
        value: (s) => t(`words:task.${s.state}`),
        cell: (s) => <StateBadge {...taskLook(s.state)}>{t(`words:task.${s.state}`)}</StateBadge>,
      },
      {
        id: "of",
        header: t("of"),
        value: (s) => s.plan ?? t("scenario"),
        cell: (s) => (s.plan ? <PlanName name={s.plan} /> : t("scenario")),
      },
      { id: "seed", header: t("seed"), align: "end", value: (s) => s.seed, missing: t("seed-default") },
      { id: "actor", header: t("common:actor"), value: (s) => actor(s.actor) },
      { id: "at", header: t("common:time"), value: (s) => s.created_at, cell: (s) => <When at={s.created_at} /> },
    ],
    [t, edits, actor],
  );
  return (
    <DataTable
      caption={t("simulations")}
      rows={items}
      columns={columns}
      rowId={(s) => String(s.id)}
      filterLabel={items.length < 12 ? "" : t("simulations-filter")}
      empty={<Empty title={t("simulations-none")} why={t("simulations-none-why")} />}
      maxHeight="24rem"
    />
  );
}

function StartSimulation({ fabric, onStarted }: { fabric: string; onStarted: (id: string) => void }) {
  const { t } = useTranslation("whatif");
  const can = useCan();
  const cache = useQueryClient();
  const inForce = useInForce(fabric).plan?.name;
  const plans = useQuery({
    queryKey: keys.plans(fabric, "latest"),
    queryFn: () =>
      data(client.GET("/api/v1/fabrics/{fabric}/plans", { params: { path: { fabric }, query: { limit: 100 } } })),
  });
  const [chosen, setChosen] = useState("");
  const [seed, setSeed] = useState<number | string>(1);
  const [before, setBefore] = useState(false);
  const [attempt, setAttempt] = useState(0);
  const plan = chosen || inForce || plans.data?.items[0]?.name || "";
  const body = { fabric, plan, before, seed: Number(seed) };
  const key = useOperationKey([body, attempt]);
  const start = useMutation({
    mutationFn: () =>
      data(client.POST("/api/v1/simulations", { params: { header: { "Idempotency-Key": key } }, body })),
    onSuccess: (s) => {
      setAttempt(attempt + 1);
      void cache.invalidateQueries({ queryKey: keys.simulations() });
      onStarted(String(s.id));
    },
  });
  if (!plan) return <Text c="dimmed">{t("no-plan")}</Text>;
  return (
    <Stack gap="xs">
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label={t("plan-to-simulate")}
          value={plan}
          onChange={(e) => setChosen(e.currentTarget.value)}
          data={(plans.data?.items ?? []).map((p) => ({
            value: p.name,
            label: p.name === inForce ? t("plan-in-force", { plan: shortPlan(p.name) }) : shortPlan(p.name),
          }))}
        />
        <NumberInput label={t("seed")} value={seed} onChange={setSeed} min={0} allowDecimal={false} maw={120} />
        <Checkbox label={t("before")} checked={before} onChange={(e) => setBefore(e.currentTarget.checked)} mb={8} />
        <ActionButton allowed={can("simulation", "run")} loading={start.isPending} onClick={() => start.mutate()}>
          {t("simulate")}
        </ActionButton>
      </Group>
      <Text size="sm" c="dimmed">
        {t("simulate-help")}
      </Text>
      {start.error ? <ProblemNote problem={start.error} /> : null}
    </Stack>
  );
}

/** Stops a queued or running simulation. */
export function CancelSimulation({ simulation }: { simulation: Simulation }) {
  const { t } = useTranslation("whatif");
  const cache = useQueryClient();
  const key = useOperationKey(["cancel", simulation.id]);
  const cancel = useMutation({
    mutationFn: () =>
      data(
        client.POST("/api/v1/simulations/{simulation}/cancel", {
          params: { path: { simulation: simulation.id }, header: { "Idempotency-Key": key } },
        }),
      ),
    onSettled: () => void cache.invalidateQueries({ queryKey: keys.simulations() }),
  });
  return (
    <>
      <Button variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
        {t("cancel-simulation")}
      </Button>
      {cancel.error ? <ProblemNote problem={cancel.error} /> : null}
    </>
  );
}
