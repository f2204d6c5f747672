import { Modal, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { keys } from "../../../api/keys";
import { QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useFieldTexts, useWrite } from "../../../ui/useWrite";
import { MergeNote } from "../../parts/MergeNote";
import { useMergedForm } from "../../parts/useMergedForm";
import { type Fabric, readFabric, timeScaleOf, updateFabric, useFabricVersion } from "./fabricForm";

type Read = Awaited<ReturnType<typeof readFabric>>;
type Form = { source: string; time_scale: string; counters: string; prerequisites: string };

const formOf = (f: Fabric): Form => ({
  source: f.source,
  time_scale: String(f.time_scale),
  counters: f.counters ?? "clear",
  prerequisites: f.prerequisites ?? "report",
});

/** Changes the source of a fabric and how it is measured. */
export function EditFabric({ fabric, onClose }: { fabric: string; onClose: () => void }) {
  const { t } = useTranslation(["settings", "shell"]);
  const version = useFabricVersion(fabric);
  if (version.data) return <EditForm version={version.data} onClose={onClose} />;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t("edit-fabric", { fabric })}
      closeButtonProps={{ "aria-label": t("shell:close") }}
    >
      <QueryView query={version}>{() => null}</QueryView>
    </Modal>
  );
}

function EditForm({ version, onClose }: { version: Read; onClose: () => void }) {
  const { t } = useTranslation("settings");
  const cache = useQueryClient();
  const fabric = version.body;
  const merged = useMergedForm(version, formOf);
  const { form, setForm, changed } = merged;
  const write = useWrite();
  const scale = timeScaleOf(form.time_scale);
  const save = async () => {
    const body = { ...form, time_scale: scale } as Parameters<typeof updateFabric>[2];
    const done = await write.run(() =>
      merged.send(
        (tag) => updateFabric(fabric.name, tag, body),
        () => readFabric(fabric.name),
      ),
    );
    if (!done?.done) return;
    for (const queryKey of [keys.fabrics(), keys.everything(fabric.name)]) void cache.invalidateQueries({ queryKey });
    onClose();
  };
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("edit-fabric", { fabric: fabric.name })}
      effect={t("edit-do", { fabric: fabric.name })}
      busy={write.busy}
      problem={write.problem}
      disabled={scale === undefined || merged.open > 0 || !changed}
      onConfirm={() => void save()}
    >
      <Stack gap="sm">
        <MergeNote merged={merged} label={(f) => t(`field.${f}`)} word={(f, x) => x[f]} />
        <EditFields form={form} setForm={setForm} problem={write.problem} />
        <Text size="sm">{t("edit-effect", { source: fabric.source })}</Text>
      </Stack>
    </TypedConfirm>
  );
}

function EditFields({ form, setForm, problem }: { form: Form; setForm: (form: Form) => void; problem: unknown }) {
  const { t } = useTranslation("settings");
  const errors = useFieldTexts(problem);
  const choice = (field: "counters" | "prerequisites", values: string[]) => (
    <NativeSelect
      label={t(`field.${field}`)}
      description={t(`is.${field}`)}
      value={form[field]}
      onChange={(e) => setForm({ ...form, [field]: e.currentTarget.value })}
      data={values.map((value) => ({ value, label: t(`choice.${field}.${value}`) }))}
      error={errors.get(`/${field}`)}
    />
  );
  return (
    <>
      <TextInput
        label={t("field.source")}
        description={t("source-is")}
        value={form.source}
        onChange={(e) => setForm({ ...form, source: e.currentTarget.value })}
        error={errors.get("/source")}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
      />
      <TextInput
        label={t("field.time_scale")}
        description={t("time-scale-is")}
        value={form.time_scale}
        onChange={(e) => setForm({ ...form, time_scale: e.currentTarget.value })}
        error={
          errors.get("/time_scale") ?? (timeScaleOf(form.time_scale) === undefined ? t("time-scale-wrong") : undefined)
        }
        inputMode="decimal"
        autoComplete="off"
      />
      {choice("counters", ["clear", "keep"])}
      {choice("prerequisites", ["report", "repair"])}
    </>
  );
}
