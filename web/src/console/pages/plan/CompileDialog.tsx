import { Button, Group, Modal, Stack, Switch, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { ProblemNote } from "../../../ui/ProblemNote";
import { QueryView } from "../../../ui/states";
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
  const { t } = useTranslation(["plans", "shell"]);
  const navigate = useNavigate();
  const [keep, setKeep] = useState(false);
  const body: Schemas["PlanCreate"] = {
    ...(policy === undefined ? {} : { policy }),
    ...(keep ? { keep_placements: true } : {}),
  };
  const dry = useDryCompile(fabric, body, true);
  const store = useStorePlan(fabric, body);
  const save = () =>
    store.mutate(undefined, {
      onSuccess: (plan) =>
        void navigate({ to: "/console/f/$fabric/plans/$plan", params: { fabric, plan: plan.name } as never }),
    });
  return (
    <Modal
      opened
      onClose={onClose}
      size="70rem"
      title={policy === undefined ? t("compile-title") : t("compile-title-of", { revision: policy })}
      closeButtonProps={{ "aria-label": t("shell:close") }}
    >
      <Stack gap="md">
        <Text size="sm">{t("compile-why")}</Text>
        <Switch
          label={t("keep-placements")}
          description={t("keep-placements-why")}
          checked={keep}
          onChange={(e) => setKeep(e.currentTarget.checked)}
        />
        <QueryView query={dry}>{(plan) => <CompiledPreview fabric={fabric} plan={plan} />}</QueryView>
        {store.error ? <ProblemNote problem={store.error} /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("shell:cancel")}
          </Button>
          <Button onClick={save} loading={store.isPending} disabled={!dry.data || dry.isFetching}>
            {dry.data ? t("store-plan", { plan: shortPlan(dry.data.name) }) : t("store")}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
