import { Stack } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useCan } from "../../../shell/me";
import { ProblemNote } from "../../../ui/ProblemNote";
import { ActionButton } from "../../parts/ActionButton";
import { shortPlan } from "../../parts/links";
import { Part } from "../../parts/Part";
import type { Plan } from "../../parts/plans";
import { SharesTable } from "../../parts/SharesTable";
import { SimulationState } from "../whatif/SimulationState";
import type { Context } from "./context";
import { isActive, resultOf, useSimulate, useSimulationOf } from "./simulation";

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
  const s = query.data?.plan === plan.name ? query.data : undefined; // the address may name one of another plan
  const before = x.isInForce ? undefined : x.inForce.plan?.tenants;
  return (
    <Part
      title={before ? t("shares-change") : t("shares")}
      aside={<Simulate context={x} plan={plan} running={isActive(s)} onStarted={onSimulation} />}
    >
      <Stack gap="xs">
        {query.error ? <ProblemNote problem={query.error} onRetry={() => void query.refetch()} /> : null}
        {s ? <SimulationState simulation={s} /> : null}
        {x.inForce.known ? (
          <SharesTable
            after={plan.tenants}
            before={before}
            simulated={resultOf(s)}
            csvName={`${x.fabric}-${shortPlan(plan.name)}-shares`}
          />
        ) : x.inForce.problem ? (
          <ProblemNote problem={x.inForce.problem} />
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
