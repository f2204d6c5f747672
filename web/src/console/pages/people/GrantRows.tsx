import { Button, Group, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFabrics } from "../../../shell/fabrics";
import { type Grant, isWide, tenantRoles, wideRoles } from "./queries";
import { useGrantWord } from "./words";

type Props = { grants: Grant[]; onChange: (grants: Grant[]) => void; errors: Map<string, string> };

/** The local roles of a user: each with the fabric or the tenant where it holds. */
export function GrantRows({ grants, onChange, errors }: Props) {
  const { t } = useTranslation("people");
  const word = useGrantWord();
  const put = (i: number, grant: Grant) => onChange(grants.map((g, j) => (j === i ? grant : g)));
  return (
    <fieldset style={{ border: 0, padding: 0, margin: 0 }}>
      <Text component="legend" size="sm" fw={500}>
        {t("roles-local")}
      </Text>
      <Stack gap="xs">
        {grants.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t("roles-none")}
          </Text>
        ) : null}
        {grants.map((g, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name, and their fields are controlled
          <Group key={i} gap="xs" align="flex-end">
            <GrantFields grant={g} onChange={(next) => put(i, next)} error={errorOf(errors, i)} />
            <Button
              variant="default"
              aria-label={t("role-remove-what", { what: word(g) })}
              onClick={() => onChange(grants.filter((_, j) => j !== i))}
            >
              {t("role-remove")}
            </Button>
          </Group>
        ))}
        <Group>
          <Button variant="default" size="compact-sm" onClick={() => onChange([...grants, { role: "operator" }])}>
            {t("role-add")}
          </Button>
        </Group>
      </Stack>
    </fieldset>
  );
}

const errorOf = (errors: Map<string, string>, i: number) =>
  [...errors].find(([pointer]) => pointer === `/roles/${i}` || pointer.startsWith(`/roles/${i}/`))?.[1];

/** Role, fabric and, for a role in a tenant, the tenant. */
export function GrantFields({
  grant: g,
  onChange,
  error,
  wideOnly,
}: {
  grant: Grant;
  onChange: (grant: Grant) => void;
  error?: string;
  wideOnly?: boolean;
}) {
  const { t } = useTranslation(["people", "common"]);
  const fabrics = useFabrics().data?.map((f) => f.name) ?? [];
  const names = g.fabric && !fabrics.includes(g.fabric) ? [g.fabric, ...fabrics] : fabrics;
  const wide = isWide(g.role);
  const role = (value: string) => {
    const next = value as Grant["role"];
    onChange(
      isWide(next) ? { role: next, fabric: g.fabric } : { role: next, fabric: g.fabric ?? names[0], tenant: g.tenant },
    );
  };
  return (
    <>
      <NativeSelect
        label={t("role")}
        value={g.role}
        error={error}
        onChange={(e) => role(e.currentTarget.value)}
        data={[...wideRoles, ...(wideOnly ? [] : tenantRoles)].map((value) => ({
          value,
          label: t(`words:role.${value}`),
        }))}
      />
      <NativeSelect
        label={t("common:fabric")}
        value={g.fabric ?? ""}
        onChange={(e) => onChange({ ...g, fabric: e.currentTarget.value || undefined })}
        data={[...(wide ? [{ value: "", label: t("all-fabrics") }] : []), ...names]}
      />
      {wide ? null : (
        <TextInput
          label={t("common:tenant")}
          value={g.tenant ?? ""}
          autoComplete="off"
          spellCheck={false}
          onChange={(e) => onChange({ ...g, tenant: e.currentTarget.value.trim() || undefined })}
        />
      )}
    </>
  );
}
