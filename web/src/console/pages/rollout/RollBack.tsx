import { Radio, Select, Stack, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useFormat } from "../../../format/useFormat";
import { QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { DifferenceView } from "../../parts/DifferenceView";
import { useInForce } from "../../parts/inForce";
import { shortPlan } from "../../parts/links";
import { usePlans } from "../../parts/plans";
import { useDifference } from "../plan/queries";
import { Waves } from "../plan/Waves";
import { beforeOf, type Rollout } from "./model";
import { useBack, useBackPreview, useOpenRollout, useRollouts } from "./queries";

type To = "before" | "plan" | "baseline";

/** Rolls back: shows what would be written, in which waves, and what each tenant would get. */
export function RollBack({ fabric, rollout: ro, onClose }: { fabric: string; rollout: Rollout; onClose: () => void }) {
  const { t } = useTranslation("rollouts");
  const open = useOpenRollout(fabric);
  const running = ro.state === "running";
  const [to, setTo] = useState<To>("before");
  const [plan, setPlan] = useState<string | null>(null);
  const body: Schemas["RolloutBack"] = to === "baseline" ? { to: "baseline" } : to === "plan" && plan ? { plan } : {};
  const complete = to !== "plan" || plan !== null;
  const back = useBack(fabric, ro, body);
  // Once sent, the preview would be refused: a rollout runs.
  const preview = useBackPreview(fabric, ro, body, complete && back.isIdle);
  const target = useTarget(fabric, ro, to, plan);
  const whole = useWhole(fabric, preview.data?.devices);
  const start = () =>
    back.mutate(undefined, {
      onSuccess: (made) => {
        onClose();
        if (made.id !== ro.id) open(made);
      },
    });
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("back-title", { id: ro.id })}
      effect={t(running ? "back-do-running" : `back-do-${to}`, { devices: preview.data?.devices ?? 0 })}
      type={!running && (whole || to === "baseline") ? fabric : undefined}
      danger
      busy={back.isPending}
      problem={back.error ?? undefined}
      disabled={!complete || !preview.data || preview.isError}
      onConfirm={start}
    >
      <Stack gap="md" data-roll-back={to}>
        {running ? (
          <Text>{t("back-running-why")}</Text>
        ) : (
          <Choice
            fabric={fabric}
            rollout={ro}
            to={to}
            onTo={setTo}
            plan={plan}
            onPlan={setPlan}
            before={target.before}
          />
        )}
        {running ? null : <Effect fabric={fabric} to={to} target={target.name} />}
        {complete ? (
          <section>
            <Title order={3}>{t("waves")}</Title>
            <QueryView query={preview}>
              {(p) => (
                <Stack gap="xs">
                  <Text size="sm" role="status">
                    {t("back-waves", { devices: p.devices, waves: p.waves.length })}
                  </Text>
                  <Waves waves={p.waves} />
                </Stack>
              )}
            </QueryView>
          </section>
        ) : null}
      </Stack>
    </TypedConfirm>
  );
}

/** The name of the plan that the roll-back would put in force, where it is known; "" is the baseline. */
function useTarget(fabric: string, ro: Rollout, to: To, plan: string | null) {
  const list = useRollouts(fabric);
  const found = list.data ? beforeOf(ro, list.data) : undefined;
  const before = !list.data ? undefined : found && !found.to ? found.plan : "";
  return { before, name: to === "plan" ? (plan ?? undefined) : to === "baseline" ? "" : before };
}

/** Whether a number of devices is all of the fabric's: then its name must be typed. */
function useWhole(fabric: string, devices: number | undefined): boolean {
  const overview = useInForce(fabric).query;
  // The subnet manager is one of the states, and no device of a wave.
  const all = (overview.data?.devices ?? []).reduce((n, s) => n + s.devices, 0);
  return devices !== undefined && devices > 0 && devices >= all - 1;
}

type ChoiceProps = {
  fabric: string;
  rollout: Rollout;
  to: To;
  onTo: (to: To) => void;
  plan: string | null;
  onPlan: (plan: string | null) => void;
  before: string | undefined;
};

/** The state to return to. */
function Choice({ fabric, rollout: ro, to, onTo, plan, onPlan, before }: ChoiceProps) {
  const { t } = useTranslation("rollouts");
  const { absolute } = useFormat();
  const plans = usePlans(fabric, to === "plan");
  return (
    <Stack gap="xs">
      <Radio.Group label={t("back-to")} value={to} onChange={(v) => onTo(v as To)}>
        <Stack gap="xs" mt="xs">
          <Radio
            value="before"
            label={before ? t("back-before", { plan: shortPlan(before) }) : t("back-before-unknown")}
          />
          <Radio value="plan" label={t("back-plan")} />
          <Radio value="baseline" label={t("back-baseline")} />
        </Stack>
      </Radio.Group>
      {to === "plan" ? (
        <Select
          label={t("plan")}
          placeholder={t("back-choose")}
          searchable
          data={(plans.data ?? [])
            .filter((p) => p.name !== ro.plan)
            .map((p) => ({ value: p.name, label: `${shortPlan(p.name)} · ${absolute(p.created_at)}` }))}
          value={plan}
          onChange={onPlan}
          nothingFoundMessage={t("back-no-plan")}
        />
      ) : null}
    </Stack>
  );
}

/** What the target changes, against the plan in force. */
function Effect({ fabric, to, target }: { fabric: string; to: To; target: string | undefined }) {
  const { t } = useTranslation("rollouts");
  const inForce = useInForce(fabric).plan?.name;
  const difference = useDifference(fabric, target ?? "", inForce);
  if (to === "baseline" || target === "") return <Text>{t("back-baseline-why")}</Text>;
  if (!target) return null;
  if (target === inForce) return <Text>{t("back-same")}</Text>;
  return <QueryView query={difference}>{(d) => <DifferenceView difference={d} />}</QueryView>;
}
