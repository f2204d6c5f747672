import { Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { useSignInMethods } from "../../../shell/me";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useFieldTexts, useWrite } from "../../../ui/useWrite";
import { GrantRows } from "./GrantRows";
import { leastPassword, NewPassword } from "./NewPassword";
import { type Grant, usePeopleChanged } from "./queries";
import { useGrantWord } from "./words";

/** Adds a user with a password, or one that signs in through the OpenID provider. */
export function AddUser({ onClose, onAdded }: { onClose: () => void; onAdded: (user: string) => void }) {
  const { t } = useTranslation(["people", "common"]);
  const [name, setName] = useState("");
  const [display, setDisplay] = useState("");
  const [password, setPassword] = useState("");
  const [roles, setRoles] = useState<Grant[]>([{ role: "auditor" }]);
  const write = useWrite();
  const errors = useFieldTexts(write.problem);
  const changed = usePeopleChanged();
  const methods = useSignInMethods();
  const word = useGrantWord();
  const body = {
    name: name.trim(),
    ...(display.trim() ? { display_name: display.trim() } : {}),
    ...(password ? { password } : {}),
    roles,
  };
  const save = async () => {
    const made = await write.run(() => data(client.POST("/api/v1/users", { body })));
    if (!made) return;
    setPassword("");
    await changed();
    onAdded(made.done.name);
  };
  const short = password !== "" && password.length < leastPassword;
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("user-add")}
      effect={t("user-add-do", { user: body.name })}
      busy={write.busy}
      problem={write.problem}
      disabled={body.name === "" || short}
      onConfirm={() => void save()}
    >
      <Stack gap="sm">
        <TextInput
          label={t("user-name")}
          description={t("user-name-is")}
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          error={errors.get("/name")}
          required
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        <TextInput
          label={t("display-name")}
          value={display}
          maxLength={200}
          onChange={(e) => setDisplay(e.currentTarget.value)}
          error={errors.get("/display_name")}
          autoComplete="off"
        />
        <NewPassword
          label={t("password")}
          description={t(methods.data?.oidc ? "password-is-optional" : "password-is", { n: leastPassword })}
          value={password}
          onChange={setPassword}
          error={errors.get("/password") ?? (short ? t("password-short", { n: leastPassword }) : undefined)}
        />
        <GrantRows grants={roles} onChange={setRoles} errors={errors} />
        <Text size="sm" role="status">
          {roles.length
            ? t("user-will", { user: body.name || "…", roles: roles.map(word).join(t("list-separator")) })
            : t("user-will-nothing")}
        </Text>
      </Stack>
    </TypedConfirm>
  );
}
