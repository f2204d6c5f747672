import { Button, Code, Group, NativeSelect, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { type FabricForm, sourcesOf, timeScaleOf } from "./fabricForm";

type Props = {
  form: FabricForm;
  onForm: (form: FabricForm) => void;
  errors: Map<string, string>;
  /** Whether the fabric exists already: its name and plane stay. */
  locked: boolean;
  disabled: boolean;
};

/** Name, plane, source and time of a fabric, with examples and help for each kind of source. */
export function FabricFields({ form, onForm, errors, locked, disabled }: Props) {
  const { t } = useTranslation(["settings", "common"]);
  const set = (patch: Partial<FabricForm>) => onForm({ ...form, ...patch });
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <TextInput
          label={t("common:name")}
          description={t("fabric-name-is")}
          value={form.name}
          onChange={(e) => set({ name: e.currentTarget.value })}
          error={errors.get("/name")}
          disabled={disabled || locked}
          required
          autoComplete="off"
          spellCheck={false}
        />
        <NativeSelect
          label={t("plane")}
          description={t("plane-is")}
          value={form.plane}
          onChange={(e) => set({ plane: e.currentTarget.value })}
          error={errors.get("/plane")}
          disabled={disabled || locked}
          data={["", "ib", "roce", "wrcc"].map((value) => ({
            value,
            label: value ? t(`common:plane.${value}`) : t("plane-by-source"),
          }))}
        />
        <TextInput
          label={t("time-scale")}
          description={t("time-scale-is")}
          value={form.time_scale}
          onChange={(e) => set({ time_scale: e.currentTarget.value })}
          error={
            errors.get("/time_scale") ??
            (timeScaleOf(form.time_scale) === undefined ? t("time-scale-wrong") : undefined)
          }
          disabled={disabled}
          inputMode="decimal"
          autoComplete="off"
        />
      </SimpleGrid>
      <TextInput
        label={t("source")}
        description={t("source-is")}
        value={form.source}
        onChange={(e) => set({ source: e.currentTarget.value })}
        error={errors.get("/source")}
        disabled={disabled}
        required
        maxLength={1024}
        autoComplete="off"
        spellCheck={false}
      />
      <Stack gap={4} component="ul" style={{ listStyle: "none", padding: 0, margin: 0 }}>
        {sourcesOf(form.plane).map((s) => (
          <li key={s.scheme}>
            <Group gap="xs" align="center">
              <Code>{s.example}</Code>
              <Text size="sm" style={{ flex: "1 1 16rem" }}>
                {t(`source.${s.scheme}`)}
              </Text>
              <Button
                size="compact-sm"
                variant="default"
                disabled={disabled}
                aria-label={t("source-use-what", { source: s.example })}
                onClick={() => set({ source: s.example })}
              >
                {t("source-use")}
              </Button>
            </Group>
          </li>
        ))}
      </Stack>
    </Stack>
  );
}
