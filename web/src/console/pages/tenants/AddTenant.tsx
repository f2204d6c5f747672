import { Modal, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { ProblemNote } from "../../../ui/ProblemNote";
import { useOperationKey } from "../../../ui/useOperationKey";
import { storePlan } from "../../parts/plans";
import { AddButtons } from "./AddButtons";
import { AddFields } from "./AddFields";
import { AdmissionView } from "./AdmissionView";
import { declareFlows, flowCount, mostNewFlows } from "./changes";
import { expandPorts } from "./ports";
import { admissionOf, creationOf, emptyForm, mistakes, type TenantForm } from "./tenantForm";

/** Adds a tenant: its fields, what it would get and cost the others, then the tenant and a plan. Enter leads from step to step. */
export function AddTenant({ fabric, onClose }: { fabric: string; onClose: () => void }) {
  const { t } = useTranslation(["tenants", "shell"]);
  const [form, setForm] = useState<TenantForm>(emptyForm);
  const [tried, setTried] = useState(false);
  const wrong = mistakes(form);
  const preview = useAdmission(fabric);
  const create = useCreate(fabric, form);
  const asked = JSON.stringify(admissionOf(form));
  const current = preview.data && preview.data.asked === asked ? preview.data.admission : undefined;
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (current) button.current?.focus();
  }, [current]);
  const submit = () => {
    setTried(true);
    if (Object.keys(wrong).length > 0) return;
    if (current) create.mutate();
    else preview.mutate(admissionOf(form));
  };
  return (
    <Modal
      opened
      onClose={onClose}
      size="60rem"
      title={t("add-title", { fabric })}
      closeOnClickOutside={false}
      closeButtonProps={{ "aria-label": t("shell:close") }}
    >
      <form
        noValidate
        onSubmit={(e) => {
          e.preventDefault();
          submit();
        }}
      >
        <Stack gap="md">
          <AddFields
            fabric={fabric}
            form={form}
            onChange={setForm}
            wrong={tried ? wrong : {}}
            problem={create.error ?? preview.error}
            locked={create.made !== undefined}
          />
          {current ? <AdmissionView admission={current} /> : null}
          {preview.error ? <ProblemNote problem={preview.error} /> : null}
          {create.made && create.error ? <Text role="status">{t("made", { tenant: create.made })}</Text> : null}
          {create.error ? <ProblemNote problem={create.error} /> : null}
          <AddButtons
            ref={button}
            admission={current}
            form={form}
            busy={preview.isPending || create.isPending}
            made={create.made !== undefined}
            onClose={onClose}
          />
        </Stack>
      </form>
    </Modal>
  );
}

/** Asks whether the fabric can admit the tenant; the answer remembers its question, so that it is not taken for another's. */
function useAdmission(fabric: string) {
  return useMutation({
    mutationFn: async (body: Schemas["AdmissionRequest"]) => ({
      asked: JSON.stringify(body),
      admission: await data<Schemas["Admission"]>(
        client.POST("/api/v1/fabrics/{fabric}/plans/admit", { params: { path: { fabric } }, body }),
      ),
    }),
  });
}

/** Creates the tenant, declares its traffic, compiles the plan and opens it. After a failure it continues with the step that failed. */
function useCreate(fabric: string, form: TenantForm) {
  const navigate = useNavigate();
  const cache = useQueryClient();
  const [made, setMade] = useState<string>();
  const done = useRef({ tenant: false, flows: false });
  const body = creationOf(form);
  const [key, planKey] = [useOperationKey(body), useOperationKey("plan")];
  const mutation = useMutation({
    mutationFn: async () => {
      const at = done.current;
      if (!at.tenant) {
        await data(
          client.POST("/api/v1/fabrics/{fabric}/tenants", {
            params: { path: { fabric }, header: { "Idempotency-Key": key } },
            body,
          }),
        );
        at.tenant = true;
        setMade(body.name);
      }
      const [ports, to] = [expandPorts(form.ports) ?? [], expandPorts(form.to) ?? []];
      if (form.traffic && !at.flows && flowCount(ports.length, to.length) <= mostNewFlows) {
        await declareFlows(fabric, body.name, ports, to);
        at.flows = true;
      }
      return storePlan(fabric, planKey);
    },
    onSuccess: (plan) =>
      void navigate({ to: "/console/f/$fabric/plans/$plan", params: { fabric, plan: plan.name } as never }),
    onSettled: () => {
      for (const key of [keys.tenants(fabric), keys.plans(fabric)]) void cache.invalidateQueries({ queryKey: key });
    },
  });
  return { ...mutation, made };
}
