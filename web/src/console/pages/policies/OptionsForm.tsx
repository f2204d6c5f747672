import {
  Button,
  Group,
  MultiSelect,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  TextInput,
} from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useCan } from "../../../shell/me";
import { QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useWrite } from "../../../ui/useWrite";
import { ActionButton } from "../../parts/ActionButton";
import { CompiledPreview } from "../../parts/CompiledPreview";
import { MergeNote } from "../../parts/MergeNote";
import { Part } from "../../parts/Part";
import { useMergedForm } from "../../parts/useMergedForm";
import { useDryCompile } from "../plan/queries";
import { ClassesInput, classText } from "./ClassesInput";
import { readOptions, saveOptions, useOptions, useStale } from "./queries";

type Options = Schemas["CompileOptions"];

/** The options that plans are compiled with: read, change, preview, save. */
export function OptionsPart({ fabric, plane }: { fabric: string; plane: string | undefined }) {
  const { t } = useTranslation("policies");
  const query = useOptions(fabric);
  return (
    <Part title={t("options")}>
      <Text size="sm" c="dimmed" mb="xs">
        {t("options-why")}
      </Text>
      <QueryView query={query}>
        {(version) => <Form fabric={fabric} plane={plane ?? "ib"} version={version} />}
      </QueryView>
    </Part>
  );
}

/** The fields of the form; an option that is undefined is left to the compiler. */
type Fields = { [name in keyof Required<Options>]: Options[name] };

const noOptions: Fields = {
  ...{ plane: undefined, mode: undefined, cct_law: undefined, per_qp: undefined, reserved_sls: undefined },
  ...{ table_entries: undefined, vl_arbitration: undefined, timer_restart: undefined, profile: undefined },
  ...{ lever: undefined, classes: undefined },
};

const fieldsOf = (options: Options): Fields => ({ ...noOptions, ...options });

/** Options without those that are left to the compiler. */
function cleaned(options: Fields): Options {
  return Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined && v !== "")) as Options;
}

type FormProps = { fabric: string; plane: string; version: { body: Options; etag: string } };

function Form({ fabric, plane, version }: FormProps) {
  const { t } = useTranslation(["policies", "common"]);
  const can = useCan();
  const merged = useMergedForm(version, fieldsOf);
  const { form, setForm, original, changed, open } = merged;
  const [preview, setPreview] = useState(false);
  const set = (patch: Partial<Options>) => setForm({ ...form, ...patch });
  const stale = useStale(fabric);
  const write = useWrite();
  const save = async () => {
    const done = await write.run(() =>
      merged.send(
        (etag) => saveOptions(fabric, etag, cleaned(form)),
        () => readOptions(fabric),
      ),
    );
    if (!done) return; // the dialog says why
    setPreview(false);
    if (!done.done) return; // the form asks for choices
    merged.restart(done.done);
    stale();
  };
  const word = (name: keyof Fields, x: Fields) => {
    const value = x[name];
    if (value === undefined) return t("option-default");
    if (typeof value === "boolean") return t(value ? "common:yes" : "common:no");
    if (name === "classes") return x.classes?.map(classText).join(", ") ?? "";
    return Array.isArray(value) ? value.join(", ") || t("option-reserved_sls-none") : String(value);
  };
  return (
    <Stack gap="md">
      <MergeNote merged={merged} label={(name) => t(`option-${name}`)} word={word} />
      {plane === "ib" ? <InfiniBand options={form} set={set} /> : <Ethernet options={form} set={set} plane={plane} />}
      <Group>
        <ActionButton
          allowed={can("policy", "write", fabric)}
          reason={changed ? undefined : t("options-same")}
          disabled={open > 0}
          onClick={() => setPreview(true)}
        >
          {t("options-preview")}
        </ActionButton>
        {changed ? (
          <Button variant="default" onClick={() => setForm(original)}>
            {t("options-reset")}
          </Button>
        ) : null}
      </Group>
      {preview ? (
        <OptionsPreview
          fabric={fabric}
          options={cleaned(form)}
          busy={write.busy}
          problem={write.problem}
          onConfirm={() => void save()}
          onClose={() => setPreview(false)}
        />
      ) : null}
    </Stack>
  );
}

type FieldsProps = { options: Options; set: (patch: Partial<Options>) => void };

/** A choice whose first entry leaves it to the compiler. */
function Choice({
  name,
  values,
  options,
  set,
}: FieldsProps & { name: "mode" | "cct_law" | "per_qp" | "lever"; values: string[] }) {
  const { t } = useTranslation("policies");
  return (
    <Select
      label={t(`option-${name}`)}
      description={t(`option-${name}-why`)}
      data={[
        { value: "", label: t("option-default") },
        ...values.map((v) => ({ value: v, label: t(`option.${name}.${v}`) })),
      ]}
      value={options[name] ?? ""}
      onChange={(v) => set({ [name]: v || undefined })}
      allowDeselect={false}
    />
  );
}

function InfiniBand({ options, set }: FieldsProps) {
  const { t } = useTranslation("policies");
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
      <Choice name="mode" values={["product", "theorem1"]} options={options} set={set} />
      <Choice name="cct_law" values={["geometric", "quadratic"]} options={options} set={set} />
      <Choice name="per_qp" values={["auto", "qp", "sl"]} options={options} set={set} />
      <MultiSelect
        label={t("option-reserved_sls")}
        description={t("option-reserved_sls-why")}
        placeholder={options.reserved_sls ? t("option-reserved_sls-none") : t("option-default")}
        data={Array.from({ length: 16 }, (_, i) => ({ value: String(i), label: `SL ${i}` }))}
        value={(options.reserved_sls ?? []).map(String)}
        onChange={(list) => set({ reserved_sls: list.map(Number).sort((a, b) => a - b) })}
        onClear={() => set({ reserved_sls: undefined })}
        clearable
        clearButtonProps={{ "aria-label": t("option-clear") }}
      />
      <NumberInput
        label={t("option-table_entries")}
        description={t("option-table_entries-why")}
        placeholder={t("option-default")}
        value={options.table_entries ?? ""}
        onChange={(n) => set({ table_entries: typeof n === "number" ? n : undefined })}
        min={16}
        max={16_320}
        allowDecimal={false}
      />
      <Stack gap="sm">
        <Switch
          label={t("option-vl_arbitration")}
          description={t("option-vl_arbitration-why")}
          checked={options.vl_arbitration ?? false}
          onChange={(e) => set({ vl_arbitration: e.currentTarget.checked || undefined })}
        />
        <Switch
          label={t("option-timer_restart")}
          description={t("option-timer_restart-why")}
          checked={options.timer_restart ?? false}
          onChange={(e) => set({ timer_restart: e.currentTarget.checked || undefined })}
        />
      </Stack>
    </SimpleGrid>
  );
}

function Ethernet({ options, set, plane }: FieldsProps & { plane: string }) {
  const { t } = useTranslation("policies");
  if (plane !== "roce") return <Text>{t("options-no-fields")}</Text>;
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
      <Choice name="lever" values={["dcqcn", "classes", "both"]} options={options} set={set} />
      <ClassesInput
        label={t("option-classes")}
        description={t("option-classes-why")}
        value={options.classes}
        onChange={(classes) => set({ classes })}
      />
      <TextInput
        label={t("option-profile")}
        description={t("option-profile-why")}
        placeholder={t("option-default")}
        value={options.profile ?? ""}
        onChange={(e) => set({ profile: e.currentTarget.value || undefined })}
      />
    </SimpleGrid>
  );
}

type PreviewProps = {
  fabric: string;
  options: Options;
  busy: boolean;
  problem: unknown;
  onConfirm: () => void;
  onClose: () => void;
};

/** What plans give with the changed options, before these are saved. */
function OptionsPreview({ fabric, options, busy, problem, onConfirm, onClose }: PreviewProps) {
  const { t } = useTranslation("policies");
  const compiled = useDryCompile(fabric, { options });
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      size="70rem"
      title={t("options-title")}
      effect={t("options-save")}
      busy={busy}
      problem={problem}
      disabled={!compiled.data}
      onConfirm={onConfirm}
    >
      <Text size="sm">{t("options-effect")}</Text>
      <QueryView query={compiled}>{(plan) => <CompiledPreview fabric={fabric} plan={plan} />}</QueryView>
    </TypedConfirm>
  );
}
