import { List, Stack, Text, Title } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useOperationKey } from "../../../ui/useOperationKey";
import { useDifferenceSentence } from "../../parts/DifferenceView";
import { totals } from "../../parts/difference";
import { PlanName, shortPlan } from "../../parts/links";
import type { Plan } from "../../parts/plans";
import { useOpenRollout } from "../rollout/queries";
import type { Context } from "./context";
import { usePreview } from "./queries";
import { RolloutOptionsForm } from "./RolloutOptionsForm";
import { defaults, optionsOf, type RolloutForm } from "./rolloutOptions";
import { Waves } from "./Waves";

/** Chooses the bounds of a rollout, shows its waves, and starts it. */
export function StartRollout({ context: x, plan, onClose }: { context: Context; plan: Plan; onClose: () => void }) {
  const { t } = useTranslation("plans");
  const [form, setForm] = useState<RolloutForm>(defaults);
  const options = useMemo(() => optionsOf(form), [form]);
  const [settled] = useDebouncedValue(options, 300);
  const start = useStart(x.fabric, plan.name, options);
  const begun = start.isPending || start.isSuccess; // from here on the service answers that a rollout is running
  const preview = usePreview(x.fabric, plan.name, settled, !begun);
  const effect = useEffectOf(x, preview.data);
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("start-title", { plan: shortPlan(plan.name), fabric: x.fabric })}
      effect={effect.button}
      type={effect.whole ? x.fabric : undefined}
      danger={effect.whole}
      busy={start.isPending}
      problem={start.error ?? undefined}
      disabled={!preview.data || preview.isPlaceholderData || preview.isError || settled !== options}
      onConfirm={() => start.mutate()}
    >
      <Stack gap="md" data-start={plan.name}>
        <Effect context={x} plan={plan} />
        <RolloutOptionsForm form={form} onChange={setForm} problem={start.error ?? preview.error} />
        <section>
          <Title order={3}>{t("waves")}</Title>
          <QueryView query={preview}>
            {(p) => (
              <Stack gap="xs">
                <Text size="sm" role="status">
                  {t("waves-sentence", { waves: p.waves.length, devices: p.devices })}
                </Text>
                <div style={{ maxHeight: "14rem", overflowY: "auto" }}>
                  <Waves waves={p.waves} />
                </div>
              </Stack>
            )}
          </QueryView>
        </section>
      </Stack>
    </TypedConfirm>
  );
}

/** What the rollout changes, and how to undo it. */
function Effect({ context: x, plan }: { context: Context; plan: Plan }) {
  const { t } = useTranslation("plans");
  const sentence = useDifferenceSentence();
  return (
    <List size="sm" spacing={4}>
      {x.isInForce ? <List.Item>{t("start-in-force")}</List.Item> : null}
      {x.difference.data ? <List.Item>{sentence(x.difference.data, x.devices)}</List.Item> : null}
      {plan.findings.length > 0 ? <List.Item>{t("start-findings", { n: plan.findings.length })}</List.Item> : null}
      {x.stale ? <List.Item>{t("start-stale")}</List.Item> : null}
      <List.Item>
        {x.inForce.name && !x.isInForce ? (
          <>
            {t("start-back")} <PlanName name={x.inForce.name} />
          </>
        ) : (
          t("start-back-none")
        )}
      </List.Item>
    </List>
  );
}

/** The words of the button, and whether every device of the fabric is touched: then its name must be typed. */
function useEffectOf(x: Context, preview: Schemas["RolloutPreview"] | undefined) {
  const { t } = useTranslation("plans");
  return useMemo(() => {
    if (!preview) return { button: t("start"), whole: false };
    const all = preview.devices;
    if (x.isInForce) return { button: t("send-check", { devices: all }), whole: false };
    if (x.inForce.name === "") return { button: t("send-first", { devices: all }), whole: true };
    const devices = x.devices ?? all;
    if (devices === 0) return { button: t("send-check", { devices: all }), whole: false };
    const whole = devices >= all && all > 0;
    if (!x.difference.data) return { button: t("send-first", { devices }), whole };
    return { button: t("send", { settings: totals(x.difference.data).settings, devices }), whole };
  }, [x, preview, t]);
}

function useStart(fabric: string, plan: string, options: Schemas["RolloutOptions"]) {
  const key = useOperationKey([fabric, plan, options]);
  return useMutation({
    mutationFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/rollouts", {
          params: { path: { fabric }, header: { "Idempotency-Key": key } },
          body: { plan, options },
        }),
      ) as Promise<Schemas["Rollout"]>,
    onSuccess: useOpenRollout(fabric),
  });
}
