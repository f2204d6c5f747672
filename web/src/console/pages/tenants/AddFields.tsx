import { Checkbox, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFieldTexts } from "../../../ui/useWrite";
import { flowCount, mostNewFlows } from "./changes";
import { PortsField } from "./PortsField";
import { expandPorts } from "./ports";
import { type Field, fieldOf, type TenantForm } from "./tenantForm";

type Props = {
  fabric: string;
  form: TenantForm;
  onChange: (form: TenantForm) => void;
  wrong: Partial<Record<Field, string>>;
  problem: unknown;
  /** Whether the tenant exists already: its fields can no longer be changed here. */
  locked: boolean;
};

/** The fields of a new tenant, in the order in which they are needed. */
export function AddFields({ fabric, form, onChange, wrong, problem, locked }: Props) {
  const { t } = useTranslation(["tenants", "common"]);
  const errors = useErrors(wrong, problem);
  const text = (name: Field & keyof TenantForm, label: string, description?: string) => ({
    label,
    description,
    value: form[name] as string,
    error: errors[name],
    disabled: locked,
    autoComplete: "off",
    spellCheck: false,
    onChange: (e: React.ChangeEvent<HTMLInputElement>) => onChange({ ...form, [name]: e.currentTarget.value }),
  });
  const flows = flowCount(expandPorts(form.ports)?.length ?? 0, expandPorts(form.to)?.length ?? 0);
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput {...text("name", t("common:name"), t("name-is"))} required data-autofocus />
        <TextInput {...text("weight", t("common:weight"), t("weight-is"))} required inputMode="decimal" />
      </SimpleGrid>
      <PortsField
        fabric={fabric}
        label={t("ports-of")}
        description={t("ports-is")}
        value={form.ports}
        onChange={(ports) => onChange({ ...form, ports })}
        error={errors.ports}
        disabled={locked}
      />
      <PortsField
        fabric={fabric}
        label={t("to")}
        description={t("to-is")}
        value={form.to}
        onChange={(to) => onChange({ ...form, to })}
        error={errors.to}
        disabled={locked}
      />
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <TextInput {...text("guarantee", t("guarantee-in"), t("guarantee-is"))} inputMode="decimal" />
        <TextInput {...text("cap", t("cap-in"), t("cap-is"))} inputMode="decimal" />
        <TextInput {...text("pkey", t("pkey"), t("pkey-is"))} />
      </SimpleGrid>
      <Checkbox
        label={t("traffic", { n: flows })}
        description={flows > mostNewFlows ? t("traffic-many", { most: mostNewFlows }) : t("traffic-is")}
        checked={form.traffic && flows <= mostNewFlows}
        disabled={locked || flows > mostNewFlows}
        onChange={(e) => onChange({ ...form, traffic: e.currentTarget.checked })}
      />
    </Stack>
  );
}

/** What is wrong by field: what the form knows by itself, else what the service found. */
function useErrors(wrong: Partial<Record<Field, string>>, problem: unknown): Partial<Record<Field, string>> {
  const { t } = useTranslation("tenants");
  const found = useFieldTexts(problem);
  const out: Partial<Record<Field, string>> = {};
  for (const [pointer, text] of found) {
    const field = fieldOf(pointer);
    if (field) out[field] = text;
  }
  for (const [field, key] of Object.entries(wrong)) out[field as Field] = t(key);
  return out;
}
