import { Group, Progress, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Said } from "../../../ui/Said";
import { StateBadge, taskLook } from "../../../ui/StateBadge";
import { When } from "../../../ui/When";
import { isActive, resultOf, type Simulation } from "../plan/simulation";
import { CancelSimulation } from "./Simulations";

/** Progress of a simulation, its failure, or what it measured. */
export function SimulationState({ simulation: s }: { simulation: Simulation }) {
  const { t } = useTranslation(["whatif", "common"]);
  const { share, duration } = useFormat();
  const result = resultOf(s);
  return (
    <Stack gap="xs" className="fl-panel" data-simulation={s.state}>
      <Group gap="sm">
        <StateBadge tone="simulated">{t("common:simulated")}</StateBadge>
        <StateBadge {...taskLook(s.state)}>{t(`words:task.${s.state}`)}</StateBadge>
        <Text size="sm">{t("simulation-id", { id: s.id })}</Text>
        <Text size="sm" c="dimmed">
          <When at={s.finished_at ?? s.created_at} />
        </Text>
        {isActive(s) ? <CancelSimulation simulation={s} /> : null}
      </Group>
      {isActive(s) ? <Progress value={s.progress * 100} aria-label={t("progress")} /> : null}
      {result ? (
        <Text size="sm" role="status">
          {t("result", {
            outside: result.tenants.filter((x) => !x.within_bound).length,
            tenants: result.tenants.length,
            worst: share(result.max_share_error),
            time: duration(result.simulated_s),
            seed: result.seed,
          })}
        </Text>
      ) : null}
      {s.error ? (
        <Text size="sm" className="fl-name">
          <Said said={s.error_said} english={s.error} />
        </Text>
      ) : null}
    </Stack>
  );
}
