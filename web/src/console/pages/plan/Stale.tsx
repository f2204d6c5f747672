import { Alert, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useCan } from "../../../shell/me";
import { Icon } from "../../../ui/icons";
import { ActionButton } from "../../parts/ActionButton";
import type { Plan } from "../../parts/plans";
import type { Context } from "./context";

/** Says that the policy or the topology moved on since the plan was compiled, and offers a new one. */
export function Stale({ context: x, plan, onCompile }: { context: Context; plan: Plan; onCompile: () => void }) {
  const { t } = useTranslation("plans");
  const can = useCan();
  if (!x.stale) return null;
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="clock" />} title={t("stale-title")} data-state="stale">
      <Stack gap="xs" align="flex-start">
        {x.policyMoved ? (
          <Text size="sm">{t("stale-policy", { of: plan.policy ?? 0, latest: x.latest ?? 0 })}</Text>
        ) : null}
        {x.topologyMoved ? <Text size="sm">{t("stale-topology")}</Text> : null}
        <ActionButton size="compact-sm" variant="default" allowed={can("plan", "write", x.fabric)} onClick={onCompile}>
          {t("compile-again")}
        </ActionButton>
      </Stack>
    </Alert>
  );
}
