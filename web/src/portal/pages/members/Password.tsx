import { Alert, Button, Group, Paper, PasswordInput, Stack, Text } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { useMe } from "../../../shell/me";
import { Icon } from "../../../ui/icons";
import { ProblemNote } from "../../../ui/ProblemNote";
import { useFieldTexts } from "../../../ui/useWrite";
import { useSend } from "./useSend";

/** Changes the reader's password. All other sessions of the account end. */
export function Password() {
  const { t } = useTranslation(["members", "shell"]);
  const { data: me } = useMe();
  const { busy, problem, send } = useSend();
  const [password, setPassword] = useState("");
  const [next, setNext] = useState("");
  const [done, setDone] = useState(false);
  const errors = useFieldTexts(problem);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setDone(false);
    void send(
      () => data(client.PUT("/api/v1/me/password", { body: { password, new_password: next } })),
      [],
      () => {
        setPassword("");
        setNext("");
        setDone(true);
      },
    );
  };
  const toggle = { "aria-label": t("shell:show-password"), tabIndex: 0 };
  return (
    <Paper withBorder p="md" maw={480} component="form" onSubmit={submit as never} aria-label={t("part.password")}>
      <Stack gap="sm">
        <input type="text" name="username" autoComplete="username" value={me?.name ?? ""} readOnly hidden />
        <PasswordInput
          label={t("password-now")}
          autoComplete="current-password"
          value={password}
          error={errors.get("/password")}
          visibilityToggleButtonProps={toggle}
          onChange={(e) => setPassword(e.currentTarget.value)}
        />
        <PasswordInput
          label={t("password-next")}
          description={t("password-how")}
          autoComplete="new-password"
          value={next}
          error={errors.get("/new_password")}
          visibilityToggleButtonProps={toggle}
          onChange={(e) => setNext(e.currentTarget.value)}
        />
        <Text size="sm">{t("password-effect")}</Text>
        {problem && errors.size === 0 ? <ProblemNote problem={problem} /> : null}
        {done ? (
          <Alert color="green" variant="light" role="status" icon={<Icon name="check" />} title={t("password-done")} />
        ) : null}
        <Group>
          <Button type="submit" loading={busy} disabled={password === "" || next.length < 12}>
            {t("password-change")}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
