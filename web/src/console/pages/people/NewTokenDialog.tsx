import { Alert, Button, Group, Modal, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Copyable } from "../../../ui/CopyAs";
import { Icon } from "../../../ui/icons";
import { ProblemNote } from "../../../ui/ProblemNote";
import { useFieldTexts, useWrite } from "../../../ui/useWrite";
import { createToken, type Owner, usePeopleChanged } from "./queries";

/** Lifetimes that the form offers, in days. */
const days = [1, 7, 30, 90, 365];

/** Creates a token and shows its secret once: it lives in this dialog alone and goes with it. */
export function NewTokenDialog({ owner, onClose }: { owner: Owner; onClose: () => void }) {
  const { t } = useTranslation(["people", "shell"]);
  const [secret, setSecret] = useState<string>();
  const [name, setName] = useState("");
  const close = () => {
    setSecret(undefined);
    onClose();
  };
  return (
    <Modal
      opened
      onClose={close}
      size="lg"
      title={owner.account ? t("token-add-of", { account: owner.account }) : t("token-add")}
      closeOnClickOutside={secret === undefined}
      closeOnEscape={secret === undefined}
      closeButtonProps={{ "aria-label": t("shell:close") }}
    >
      {secret === undefined ? (
        <Form owner={owner} name={name} setName={setName} onSecret={setSecret} onClose={close} />
      ) : (
        <Stack gap="md" data-secret>
          <Alert color="yellow" variant="light" icon={<Icon name="warning" />} title={t("secret-once")} role="status">
            {t("secret-once-why")}
          </Alert>
          <Copyable label={t("secret-of", { token: name })} text={secret} />
          <Text size="sm">{t("secret-use")}</Text>
          <Group justify="flex-end">
            <Button onClick={close}>{t("secret-kept")}</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

type FormProps = {
  owner: Owner;
  name: string;
  setName: (name: string) => void;
  onSecret: (secret: string) => void;
  onClose: () => void;
};

function Form({ owner, name, setName, onSecret, onClose }: FormProps) {
  const { t } = useTranslation(["people", "common"]);
  const [scopes, setScopes] = useState("");
  const [life, setLife] = useState("90");
  const write = useWrite();
  const errors = useFieldTexts(write.problem);
  const changed = usePeopleChanged();
  const asked = scopes.split(/[\s,]+/).filter(Boolean);
  const create = async () => {
    const body = {
      name: name.trim(),
      expires_in_s: Number(life) * 86_400,
      ...(asked.length ? { scopes: asked } : {}),
    };
    const made = await write.run(() => createToken(owner, body));
    if (!made) return;
    onSecret(made.done.secret);
    await changed();
  };
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        void create();
      }}
    >
      <Stack gap="sm">
        <TextInput
          label={t("common:name")}
          description={t("token-name-is")}
          value={name}
          onChange={(e) => setName(e.currentTarget.value)}
          error={errors.get("/name")}
          required
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        <TextInput
          label={t("scopes")}
          description={t("scopes-is")}
          value={scopes}
          onChange={(e) => setScopes(e.currentTarget.value)}
          error={[...errors].find(([pointer]) => pointer.startsWith("/scopes"))?.[1]}
          autoComplete="off"
          spellCheck={false}
        />
        <NativeSelect
          label={t("expires-after")}
          value={life}
          onChange={(e) => setLife(e.currentTarget.value)}
          data={days.map((n) => ({ value: String(n), label: t("days", { n }) }))}
          error={errors.get("/expires_in_s")}
        />
        <Text size="sm" role="status">
          {asked.length ? t("token-will-scoped", { scopes: asked.join(" ") }) : t("token-will")}
        </Text>
        {write.problem ? <ProblemNote problem={write.problem} /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("common:cancel")}
          </Button>
          <Button type="submit" loading={write.busy} disabled={name.trim() === ""}>
            {t("token-create")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
