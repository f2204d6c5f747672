import { NumberInput, Radio, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { answer, client, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useFormat } from "../../../format/useFormat";
import { QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useFieldTexts, useWrite } from "../../../ui/useWrite";
import { ActionButton } from "../../parts/ActionButton";
import { MergeNote } from "../../parts/MergeNote";
import { Part } from "../../parts/Part";
import { useMergedForm } from "../../parts/useMergedForm";
import type { Device } from "./model";

type Policy = Schemas["DriftPolicy"];
type Update = Required<Schemas["DriftPolicyUpdate"]>;

const read = (fabric: string) =>
  answer<Policy>(client.GET("/api/v1/fabrics/{fabric}/drift-policy", { params: { path: { fabric } } }));

const formOf = ({ version: _v, updated_at: _u, ...fields }: Policy): Update => fields;

type Props = {
  fabric: string;
  devices: Device[];
  allowed: boolean;
  editing: boolean;
  onEdit: (editing: boolean) => void;
};

/** How drift on the fabric is found and handled, with its form. */
export function DriftPolicy({ fabric, devices, allowed, editing, onEdit }: Props) {
  const { t } = useTranslation("devices");
  const { duration } = useFormat();
  const query = useQuery({ queryKey: keys.driftPolicy(fabric), queryFn: () => read(fabric) });
  return (
    <Part
      title={t("drift-policy")}
      aside={
        <ActionButton allowed={allowed} variant="default" size="compact-sm" onClick={() => onEdit(true)}>
          {t("policy-edit")}
        </ActionButton>
      }
    >
      <QueryView query={query}>
        {({ body: p, etag }) => (
          <>
            <Text data-policy={p.policy}>
              {t(`policy-sentence.${p.policy}`)}
              {t("gap")}
              {p.interval_s > 0 ? t("policy-interval", { interval: duration(p.interval_s) }) : t("policy-never")}
              {t("gap")}
              {t("policy-quarantine", {
                n: p.quarantine_after,
                window: duration(p.window_s),
                release: duration(p.release_s),
              })}
            </Text>
            {editing ? (
              <PolicyForm fabric={fabric} version={{ body: p, etag }} devices={devices} onClose={() => onEdit(false)} />
            ) : null}
          </>
        )}
      </QueryView>
    </Part>
  );
}

type FormProps = {
  fabric: string;
  version: { body: Policy; etag: string };
  devices: Device[];
  onClose: () => void;
};

function PolicyForm({ fabric, version, devices, onClose }: FormProps) {
  const { t } = useTranslation("devices");
  const cache = useQueryClient();
  const merged = useMergedForm(version, formOf);
  const { form, setForm, original } = merged;
  const write = useWrite();
  const save = async () => {
    const put = (etag: string) =>
      answer<Policy>(
        client.PUT("/api/v1/fabrics/{fabric}/drift-policy", {
          params: { path: { fabric }, header: { "If-Match": etag } },
          body: form,
        }),
      );
    const done = await write.run(() => merged.send(put, () => read(fabric)));
    if (!done?.done) return;
    for (const queryKey of [keys.driftPolicy(fabric), keys.devices(fabric), keys.device(fabric)])
      void cache.invalidateQueries({ queryKey });
    onClose();
  };
  const word = (field: keyof Update, x: Update) =>
    field === "policy" ? t(`words:policy.${x.policy}`) : String(x[field]);
  const inheriting = devices.filter((d) => d.policy_inherited);
  const touched = form.policy === "repair" ? inheriting.filter((d) => d.state === "drifted").length : 0;
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("policy-title", { fabric })}
      effect={t(`policy-do.${form.policy}`, { n: inheriting.length })}
      busy={write.busy}
      problem={write.problem}
      disabled={merged.open > 0}
      onConfirm={() => void save()}
    >
      <Stack gap="md">
        <MergeNote merged={merged} label={(f) => t(f === "policy" ? "drift-policy" : `field-${f}`)} word={word} />
        <Radio.Group
          label={t("policy-choose")}
          value={form.policy}
          onChange={(v) => setForm({ ...form, policy: v as Update["policy"] })}
        >
          <Stack gap="xs" mt="xs">
            {(["report", "repair", "freeze"] as const).map((p) => (
              <Radio key={p} value={p} label={t(`words:policy.${p}`)} description={t(`policy-sentence.${p}`)} />
            ))}
          </Stack>
        </Radio.Group>
        <Numbers form={form} onChange={setForm} problem={write.problem} />
        <Text size="sm" role="status">
          {t("policy-effect", { n: inheriting.length, all: devices.length, drifted: touched })}
        </Text>
        <Text size="sm">{t("policy-back", { policy: t(`words:policy.${original.policy}`) })}</Text>
      </Stack>
    </TypedConfirm>
  );
}

/** The numbers of the policy; times are in seconds. */
function Numbers({ form, onChange, problem }: { form: Update; onChange: (form: Update) => void; problem: unknown }) {
  const { t } = useTranslation("devices");
  const errors = useFieldTexts(problem);
  const number = (field: "interval_s" | "quarantine_after" | "window_s" | "release_s", min: number, max: number) => (
    <NumberInput
      label={t(`field-${field}`)}
      description={t(`field-${field}-why`)}
      value={form[field]}
      min={min}
      max={max}
      allowDecimal={false}
      onChange={(v) => onChange({ ...form, [field]: typeof v === "number" ? v : Number.parseInt(v, 10) || 0 })}
      error={errors.get(`/${field}`)}
    />
  );
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      {number("interval_s", 0, 86_400)}
      {number("quarantine_after", 1, 100)}
      {number("window_s", 1, 604_800)}
      {number("release_s", 1, 604_800)}
    </SimpleGrid>
  );
}
