import { Checkbox, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { answer, client } from "../../../api/client";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useFieldTexts, useWrite } from "../../../ui/useWrite";
import { MergeNote } from "../../parts/MergeNote";
import { useMergedForm } from "../../parts/useMergedForm";
import { GrantRows } from "./GrantRows";
import { leastPassword, NewPassword } from "./NewPassword";
import { type Grant, readUser, type User, usePeopleChanged } from "./queries";
import { useGrantWord } from "./words";

type Form = { display_name: string; disabled: boolean; roles: Grant[] };

/** The part of a user that the form changes: its local roles, without those of the OpenID provider. */
function formOf(user: User): Form {
  const roles = user.memberships
    .filter((m) => m.source === "local")
    .map(({ role, fabric, tenant }) => ({ role, ...(fabric ? { fabric } : {}), ...(tenant ? { tenant } : {}) }));
  return { display_name: user.display_name, disabled: user.disabled, roles };
}

/** Changes a user. A newer version is merged into the form by field. */
export function EditUser({ user, etag, onClose }: { user: User; etag: string; onClose: () => void }) {
  const { t } = useTranslation("people");
  const merged = useMergedForm({ body: user, etag }, formOf);
  const { form, setForm, changed } = merged;
  const [password, setPassword] = useState("");
  const write = useWrite();
  const errors = useFieldTexts(write.problem);
  const peopleChanged = usePeopleChanged();
  const save = async () => {
    const done = await write.run(() =>
      merged.send(
        (tag) =>
          answer<User>(
            client.PUT("/api/v1/users/{user}", {
              params: { path: { user: user.name }, header: { "If-Match": tag } },
              body: { ...form, ...(password ? { password } : {}) },
            }),
          ),
        () => readUser(user.name),
      ),
    );
    if (!done?.done) return;
    setPassword("");
    await peopleChanged();
    onClose();
  };
  const short = password !== "" && password.length < leastPassword;
  const word = useFormWord();
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("user-edit", { user: user.name })}
      effect={t("user-save", { user: user.name })}
      busy={write.busy}
      problem={write.problem}
      disabled={short || merged.open > 0 || (password === "" && !changed)}
      onConfirm={() => void save()}
    >
      <Stack gap="sm">
        <MergeNote merged={merged} label={(f) => t(`field.${f}`)} word={word} />
        <TextInput
          label={t("display-name")}
          value={form.display_name}
          maxLength={200}
          onChange={(e) => setForm({ ...form, display_name: e.currentTarget.value })}
          error={errors.get("/display_name")}
          autoComplete="off"
        />
        <Checkbox
          label={t("field.disabled")}
          description={t("disabled-is")}
          checked={form.disabled}
          onChange={(e) => setForm({ ...form, disabled: e.currentTarget.checked })}
        />
        <GrantRows grants={form.roles} onChange={(roles) => setForm({ ...form, roles })} errors={errors} />
        <NewPassword
          label={t("password-new")}
          description={t("password-new-is", { n: leastPassword })}
          value={password}
          onChange={setPassword}
          error={errors.get("/password") ?? (short ? t("password-short", { n: leastPassword }) : undefined)}
        />
        <Text size="sm">{t("user-edit-effect")}</Text>
      </Stack>
    </TypedConfirm>
  );
}

/** A field's value in words. */
function useFormWord() {
  const { t } = useTranslation(["people", "common"]);
  const grant = useGrantWord();
  return (field: keyof Form, f: Form): string => {
    if (field === "disabled") return t(f.disabled ? "common:yes" : "common:no");
    return (field === "roles" ? f.roles.map(grant).join(t("list-separator")) : f.display_name) || t("common:none");
  };
}
