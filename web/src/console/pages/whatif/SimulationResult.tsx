import { Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { QueryView } from "../../../ui/states";
import { PlanName } from "../../parts/links";
import { Part } from "../../parts/Part";
import { usePlan } from "../../parts/plans";
import { SharesTable } from "../../parts/SharesTable";
import { resultOf, type Simulation, useSimulation } from "../plan/simulation";
import { SimulationState } from "./SimulationState";

/** A simulation by its number: progress, then its shares beside the predicted ones. */
export function SimulationResult({ id }: { id: number }) {
  const { t } = useTranslation("whatif");
  return (
    <Part title={t("simulation-id", { id })}>
      <QueryView query={useSimulation(id)}>
        {(s) => (
          <Stack gap="sm">
            <Text size="sm">{s.plan ? <PlanName name={s.plan} fabric={s.fabric} /> : t("scenario")}</Text>
            <SimulationState simulation={s} />
            <Shares simulation={s} />
          </Stack>
        )}
      </QueryView>
    </Part>
  );
}

function Shares({ simulation: s }: { simulation: Simulation }) {
  const { t } = useTranslation("whatif");
  const result = resultOf(s);
  const plan = usePlan(s.fabric ?? "", result ? s.plan : undefined);
  if (!result) return s.result && !s.plan ? <Text>{t("scenario-result")}</Text> : null;
  return (
    <QueryView query={plan}>
      {(p) => <SharesTable after={p.tenants} simulated={result} csvName={`simulated-${s.id}`} />}
    </QueryView>
  );
}
