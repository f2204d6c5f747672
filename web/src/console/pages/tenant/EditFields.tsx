import { ActionIcon, Button, Fieldset, Group, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Icon } from "../../../ui/icons";
import { useFieldTexts } from "../../../ui/useWrite";
import { PortsField } from "../tenants/PortsField";
import { type FieldName, fieldNames } from "./declared";
import { type Draft, labels, type Wrong } from "./draft";

type Props = { fabric: string; draft: Draft; onChange: (draft: Draft) => void; wrong: Wrong; problem: unknown };

/** Most classes of a tenant. */
const mostClasses = 16;

/** The fields of a tenant. */
export function EditFields({ fabric, draft, onChange, wrong, problem }: Props) {
  const { t } = useTranslation(["tenant", "tenants", "common"]);
  const errors = useErrors(wrong, problem);
  const text = (name: "weight" | "guarantee" | "cap" | "pkey", field: FieldName) => ({
    label: t(labels[name]),
    value: draft[name],
    error: errors[field],
    autoComplete: "off",
    onChange: (e: React.ChangeEvent<HTMLInputElement>) => onChange({ ...draft, [name]: e.currentTarget.value }),
  });
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, sm: 4 }}>
        <TextInput {...text("weight", "weight")} inputMode="decimal" />
        <TextInput {...text("guarantee", "guarantee_bps")} inputMode="decimal" />
        <TextInput {...text("cap", "cap_bps")} inputMode="decimal" />
        <TextInput {...text("pkey", "pkey")} />
      </SimpleGrid>
      <ClassFields draft={draft} onChange={onChange} error={errors.classes} />
      <PortsField
        fabric={fabric}
        label={t(labels.ports)}
        value={draft.ports}
        onChange={(ports) => onChange({ ...draft, ports })}
        error={errors.attachments}
      />
    </Stack>
  );
}

function ClassFields({
  draft,
  onChange,
  error,
}: {
  draft: Draft;
  onChange: (draft: Draft) => void;
  error: string | undefined;
}) {
  const { t } = useTranslation(["tenant", "common"]);
  const set = (i: number, patch: Partial<Draft["classes"][number]>) =>
    onChange({ ...draft, classes: draft.classes.map((c, j) => (j === i ? { ...c, ...patch } : c)) });
  return (
    <Fieldset legend={t(labels.classes)}>
      <Stack gap="xs">
        {draft.classes.map((c, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity while their names are typed
          <Group key={i} gap="xs">
            <TextInput
              aria-label={t("class-name", { n: i + 1 })}
              value={c.name}
              onChange={(e) => set(i, { name: e.currentTarget.value })}
            />
            <TextInput
              aria-label={t("class-weight", { n: i + 1 })}
              value={c.weight}
              inputMode="decimal"
              onChange={(e) => set(i, { weight: e.currentTarget.value })}
            />
            <ActionIcon
              variant="default"
              size="lg"
              aria-label={t("class-remove", { name: c.name })}
              onClick={() => onChange({ ...draft, classes: draft.classes.filter((_, j) => j !== i) })}
            >
              <Icon name="cross" />
            </ActionIcon>
          </Group>
        ))}
        {error ? (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {error}
          </Text>
        ) : null}
        <Button
          variant="default"
          size="compact-sm"
          disabled={draft.classes.length >= mostClasses}
          leftSection={<Icon name="plus" />}
          onClick={() => onChange({ ...draft, classes: [...draft.classes, { name: "", weight: "1" }] })}
          style={{ alignSelf: "flex-start" }}
        >
          {t("class-add")}
        </Button>
      </Stack>
    </Fieldset>
  );
}

/** What is wrong by field: what the form knows by itself, else what the service found. */
function useErrors(wrong: Wrong, problem: unknown): Partial<Record<FieldName, string>> {
  const { t } = useTranslation(["tenant", "tenants"]);
  const found = useFieldTexts(problem);
  const out: Partial<Record<FieldName, string>> = {};
  for (const [pointer, text] of found) {
    const field = fieldNames.find((f) => pointer.split("/")[1] === f);
    if (field) out[field] = text;
  }
  for (const field of fieldNames) {
    const key = wrong[field];
    if (key) out[field] = t(`tenants:${key}`);
  }
  return out;
}
