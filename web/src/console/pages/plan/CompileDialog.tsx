import { Switch, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { CompiledPreview } from "../../parts/CompiledPreview";
import { shortPlan } from "../../parts/links";
import { useDryCompile, useStorePlan } from "./queries";

type Props = {
  fabric: string;
  /** The revision to compile; the current declarations when left out. */
  policy?: number;
  onClose: () => void;
};

/** Compiles without storing, shows what the plan would give, and stores it on demand. */
export function CompileDialog({ fabric, policy, onClose }: Props) {
  const { t } = useTranslation("plans");
  const navigate = useNavigate();
  const [keep, setKeep] = useState(false);
  const body: Schemas["PlanCreate"] = {
    ...(policy === undefined ? {} : { policy }),
    ...(keep ? { keep_placements: true } : {}),
  };
  const dry = useDryCompile(fabric, body);
  const store = useStorePlan(fabric, body);
  const save = () =>
    store.mutate(undefined, {
      onSuccess: (plan) =>
        void navigate({ to: "/console/f/$fabric/plans/$plan", params: { fabric, plan: plan.name } as never }),
    });
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      size="70rem"
      title={policy === undefined ? t("compile-title") : t("compile-title-of", { revision: policy })}
      effect={dry.data ? t("store-plan", { plan: shortPlan(dry.data.name) }) : t("store")}
      busy={store.isPending}
      problem={store.error ?? undefined}
      disabled={!dry.data || dry.isFetching}
      onConfirm={save}
    >
      <Text size="sm">{t("compile-why")}</Text>
      <Switch
        label={t("keep-placements")}
        description={t("keep-placements-why")}
        checked={keep}
        onChange={(e) => setKeep(e.currentTarget.checked)}
      />
      <QueryView query={dry}>{(plan) => <CompiledPreview fabric={fabric} plan={plan} />}</QueryView>
    </TypedConfirm>
  );
}
