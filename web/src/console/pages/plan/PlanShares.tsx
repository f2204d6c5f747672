import { Group, Progress, Stack, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useCan } from "../../../shell/me";
import { ProblemNote } from "../../../ui/ProblemNote";
import { StateBadge, taskLook } from "../../../ui/StateBadge";
import type { Column } from "../../../ui/table/DataTable";
import { When } from "../../../ui/When";
import { ActionButton } from "../../parts/ActionButton";
import { Part } from "../../parts/Part";
import type { Plan } from "../../parts/plans";
import { SharesTable } from "../../parts/SharesTable";
import type { ShareRow } from "../../parts/shares";
import { type Figures, useFigures } from "../../parts/useFigures";
import type { Context } from "./context";
import { goesOn, resultOf, type Simulated, type Simulation, useSimulate, useSimulationOf } from "./simulation";

type Props = {
  context: Context;
  plan: Plan;
  /** Number of the simulation that the address names; "" for the latest one. */
  simulation: string;
  onSimulation: (id: string) => void;
};

/** Predicted shares beside those of the plan in force and, after a simulation, beside the simulated ones. */
export function PlanShares({ context: x, plan, simulation, onSimulation }: Props) {
  const { t } = useTranslation("plans");
  const query = useSimulationOf(x.fabric, plan.name, simulation);
  const result = resultOf(query.data);
  const columns = useSimulatedColumns(result, plan);
  const before = x.isInForce ? undefined : x.inForce.plan?.tenants;
  return (
    <Part
      title={before ? t("shares-change") : t("shares")}
      aside={<Simulate context={x} plan={plan} running={goesOn(query.data)} onStarted={onSimulation} />}
    >
      <Stack gap="xs">
        {query.data ? <SimulationState simulation={query.data} result={result} /> : null}
        {x.inForce.known ? (
          <SharesTable
            after={plan.tenants}
            before={before}
            more={columns}
            csvName={`${x.fabric}-${plan.name.slice(0, 12)}-shares`}
          />
        ) : null}
      </Stack>
    </Part>
  );
}

function Simulate({
  context: x,
  plan,
  running,
  onStarted,
}: {
  context: Context;
  plan: Plan;
  running: boolean;
  onStarted: (id: string) => void;
}) {
  const { t } = useTranslation("plans");
  const can = useCan();
  const [attempt, setAttempt] = useState(0);
  const simulate = useSimulate(x.fabric, plan.name, attempt);
  const start = () =>
    simulate.mutate(undefined, {
      onSuccess: (s) => {
        setAttempt(attempt + 1);
        onStarted(String(s.id));
      },
    });
  return (
    <Stack gap="xs" align="flex-end">
      <ActionButton
        variant="default"
        allowed={can("simulation", "run")}
        reason={running ? t("simulation-running") : undefined}
        loading={simulate.isPending}
        onClick={start}
      >
        {t("simulate")}
      </ActionButton>
      {simulate.error ? <ProblemNote problem={simulate.error} /> : null}
    </Stack>
  );
}

/** Progress of a simulation, its failure, or what it measured. */
function SimulationState({ simulation: s, result }: { simulation: Simulation; result: Simulated | undefined }) {
  const { t } = useTranslation("plans");
  const { share, number } = useFigures();
  const look = taskLook(s.state);
  return (
    <div className="fl-panel" data-simulation={s.state}>
      <Group gap="sm">
        <StateBadge tone="simulated">{t("simulated")}</StateBadge>
        <StateBadge tone={look.tone} icon={look.icon}>
          {t("simulation-state", { state: s.state })}
        </StateBadge>
        <Text size="sm">
          {t("simulation-id", { id: s.id })} <When at={s.finished_at ?? s.created_at} />
        </Text>
      </Group>
      {goesOn(s) ? <Progress value={s.progress * 100} mt="xs" aria-label={t("simulation-progress")} /> : null}
      {result ? (
        <Text size="sm" mt="xs" role="status">
          {t("simulation-result", {
            outside: result.tenants.filter((x) => !x.within_bound).length,
            tenants: result.tenants.length,
            worst: share(result.max_share_error),
            seconds: number(Math.round(result.simulated_s * 100) / 100),
            seed: result.seed,
          })}
        </Text>
      ) : null}
      {s.error ? (
        <Text size="sm" mt="xs" className="fl-name">
          {s.error}
        </Text>
      ) : null}
    </div>
  );
}

/** Simulated shares as columns beside the predicted ones, in the unit of the predicted rates. */
function useSimulatedColumns(result: Simulated | undefined, plan: Plan): Column<ShareRow>[] | undefined {
  const { t } = useTranslation("plans");
  const figures = useFigures();
  return useMemo(() => {
    if (!result) return undefined;
    const shares = new Map(result.tenants.map((s) => [s.tenant, s]));
    const scale = figures.scale(plan.tenants.flatMap((s) => [s.predicted_bps * (1 + s.bound), s.entitled_bps]));
    return simulatedColumns(t, figures, scale, (r) => shares.get(r.tenant));
  }, [result, plan, figures, t]);
}

function simulatedColumns(
  t: (key: string) => string,
  figures: Figures,
  scale: ReturnType<Figures["scale"]>,
  of: (r: ShareRow) => Simulated["tenants"][number] | undefined,
): Column<ShareRow>[] {
  return [
    {
      id: "simulated",
      header: t("simulated"),
      unit: scale.unit,
      align: "end",
      missing: t("not-simulated"),
      value: (r) => scale.value(of(r)?.delivered_bps),
      cell: (r) => {
        const s = of(r);
        return s ? <span className="fl-numeric">{scale.text(s.delivered_bps)}</span> : undefined;
      },
    },
    {
      id: "simulated-error",
      header: t("simulated-error"),
      unit: "%",
      align: "end",
      missing: t("not-simulated"),
      value: (r) => {
        const s = of(r);
        return s ? Math.round(s.share_error * 1e4) / 100 : undefined;
      },
      cell: (r) => {
        const s = of(r);
        return s ? figures.share(s.share_error) : undefined;
      },
    },
    {
      id: "within",
      header: t("within-bound"),
      value: (r) => {
        const s = of(r);
        return s ? t(s.within_bound ? "within-yes" : "within-no") : undefined;
      },
      missing: t("not-simulated"),
      cell: (r) => {
        const s = of(r);
        return s ? (
          <StateBadge tone={s.within_bound ? "good" : "warn"}>
            {t(s.within_bound ? "within-yes" : "within-no")}
          </StateBadge>
        ) : undefined;
      },
    },
  ];
}
