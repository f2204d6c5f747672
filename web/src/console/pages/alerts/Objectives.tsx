import { Button, Group, Modal, NativeSelect, NumberInput, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useFormat } from "../../../format/useFormat";
import { useCan } from "../../../shell/me";
import { ProblemNote } from "../../../ui/ProblemNote";
import { useFieldTexts } from "../../../ui/useWrite";
import { ActionButton } from "../../parts/ActionButton";
import { Part } from "../../parts/Part";
import type { Objective } from "./queries";

/** The default objective, and the form that changes it or the objective of a tenant. */
export function Objectives({
  fabric,
  standard,
  items,
}: {
  fabric: string;
  standard: Objective | undefined;
  items: Objective[];
}) {
  const { t } = useTranslation("alerts");
  const format = useFormat();
  const can = useCan();
  const [open, setOpen] = useState(false);
  if (!standard) return null;
  const own = items.filter((o) => o.source === "tenant").length;
  return (
    <Part
      title={t("objectives")}
      aside={
        <ActionButton variant="default" allowed={can("tenant", "write", fabric)} onClick={() => setOpen(true)}>
          {t("objective-change")}
        </ActionButton>
      }
    >
      <Text>
        {t("objective-default", {
          target: format.share(standard.target) ?? "",
          bound: format.share(standard.bound) ?? "",
          source: t(`source.${standard.source}`),
          own,
        })}
      </Text>
      {open ? <ObjectiveForm fabric={fabric} standard={standard} items={items} onClose={() => setOpen(false)} /> : null}
    </Part>
  );
}

type FormProps = { fabric: string; standard: Objective; items: Objective[]; onClose: () => void };

function ObjectiveForm({ fabric, standard, items, onClose }: FormProps) {
  const { t } = useTranslation(["alerts", "common"]);
  const format = useFormat();
  const [tenant, setTenant] = useState("");
  const old = items.find((o) => o.tenant === tenant) ?? standard;
  const [bound, setBound] = useState<number | string>(standard.bound * 100);
  const [target, setTarget] = useState<number | string>(standard.target * 100);
  const choose = (name: string) => {
    const o = items.find((x) => x.tenant === name) ?? standard;
    setTenant(name);
    setBound(o.bound * 100);
    setTarget(o.target * 100);
  };
  const { save, remove } = useWrites(fabric, tenant, onClose);
  const errors = useFieldTexts(save.error ?? undefined);
  const body = { bound: Number(bound) / 100, target: Number(target) / 100 };
  const changed = Math.abs(body.bound - old.bound) > 1e-9 || Math.abs(body.target - old.target) > 1e-9;
  const removable = tenant ? old.source === "tenant" : standard.source === "fabric";
  return (
    <Modal
      opened
      onClose={onClose}
      title={t("objective-change")}
      size="lg"
      closeButtonProps={{ "aria-label": t("common:close") }}
    >
      <Stack>
        <NativeSelect
          label={t("objective-of")}
          value={tenant}
          onChange={(e) => choose(e.currentTarget.value)}
          data={[
            { value: "", label: t("objective-of-default") },
            ...items.map((o) => ({ value: o.tenant ?? "", label: o.tenant ?? "" })),
          ]}
        />
        <NumberInput
          label={t("bound")}
          description={t("bound-help")}
          error={errors.get("/bound")}
          suffix=" %"
          value={bound}
          onChange={setBound}
          min={1}
          max={100}
          decimalScale={3}
        />
        <NumberInput
          label={t("target")}
          description={t("target-help")}
          error={errors.get("/target")}
          suffix=" %"
          value={target}
          onChange={setTarget}
          min={50}
          max={99.999}
          decimalScale={3}
        />
        <Text role="status">
          {changed
            ? t("objective-preview", {
                target: format.share(old.target) ?? "",
                bound: format.share(old.bound) ?? "",
                newTarget: format.share(body.target) ?? "",
                newBound: format.share(body.bound) ?? "",
              })
            : t("objective-same")}
        </Text>
        <Text size="sm" c="dimmed">
          {t("objective-effect")}
        </Text>
        {save.error || remove.error ? <ProblemNote problem={save.error ?? remove.error} /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("common:cancel")}
          </Button>
          {removable ? (
            <Button variant="default" loading={remove.isPending} onClick={() => remove.mutate()}>
              {t(tenant ? "objective-remove" : "objective-remove-default", {
                target: format.share(standard.target) ?? "",
                bound: format.share(standard.bound) ?? "",
              })}
            </Button>
          ) : null}
          <Button disabled={!changed} loading={save.isPending} onClick={() => save.mutate(body)}>
            {t(tenant ? "objective-set" : "objective-set-default", { tenant })}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function useWrites(fabric: string, tenant: string, onDone: () => void) {
  const cache = useQueryClient();
  const onSuccess = () => {
    void cache.invalidateQueries({ queryKey: keys.objectives(fabric) });
    onDone();
  };
  const one = { params: { path: { fabric, tenant } } };
  const whole = { params: { path: { fabric } } };
  const save = useMutation({
    mutationFn: (body: { bound: number; target: number }) =>
      tenant
        ? data(client.PUT("/api/v1/fabrics/{fabric}/objectives/{tenant}", { ...one, body }))
        : data(client.PUT("/api/v1/fabrics/{fabric}/objectives", { ...whole, body })),
    onSuccess,
  });
  const remove = useMutation({
    mutationFn: async () => {
      if (tenant) await data(client.DELETE("/api/v1/fabrics/{fabric}/objectives/{tenant}", one));
      else await data(client.DELETE("/api/v1/fabrics/{fabric}/objectives", whole));
    },
    onSuccess,
  });
  return { save, remove };
}
