import { Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { QueryView } from "../../../ui/states";
import { DifferenceView } from "../../parts/DifferenceView";
import { PlanName, RolloutName } from "../../parts/links";
import { planBefore } from "../rollout/model";
import { useRollouts } from "../rollout/queries";
import type { Context } from "./context";
import { useDifference } from "./queries";

/** What changed when the plan in force replaced the plan before. */
function FromBefore({ context: x }: { context: Context }) {
  const { t } = useTranslation("plans");
  const rollouts = useRollouts(x.fabric);
  const before = planBefore(x.name, rollouts.data ?? []);
  const difference = useDifference(x.fabric, x.name, before?.plan);
  return (
    <QueryView query={rollouts}>
      {() =>
        before === undefined ? (
          <Text>{t("changes-in-force")}</Text>
        ) : (
          <Stack gap="sm" data-before={before.plan}>
            <Text>
              {t("changes-before")} <PlanName name={before.plan} fabric={x.fabric} />
              {" · "}
              <RolloutName id={before.id} fabric={x.fabric} />
            </Text>
            <QueryView query={difference}>{(d) => <DifferenceView difference={d} />}</QueryView>
          </Stack>
        )
      }
    </QueryView>
  );
}

/** What changes from the plan in force; its shares stand above on the page. */
export function Changes({ context: x }: { context: Context }) {
  const { t } = useTranslation("plans");
  if (x.isInForce) return <FromBefore context={x} />;
  if (x.inForce.known && x.inForce.name === "") return <Text>{t("changes-first")}</Text>;
  return (
    <QueryView query={x.difference}>
      {(difference) => <DifferenceView difference={difference} devices={x.devices} withoutShares />}
    </QueryView>
  );
}
