import { Button, Group, List, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { useMe } from "../../../shell/me";
import { ProblemNote } from "../../../ui/ProblemNote";
import { useFieldTexts, useWrite } from "../../../ui/useWrite";
import { Part } from "../../parts/Part";
import { leastPassword, NewPassword } from "./NewPassword";
import { Tokens } from "./Tokens";
import { useGrantWord } from "./words";

/** The reader's own account: roles, tokens and password. */
export function Mine() {
  const { t } = useTranslation("people");
  const { data: me } = useMe();
  const word = useGrantWord();
  return (
    <Stack gap="lg">
      <Part title={t("my-roles")}>
        <List size="sm">
          {(me?.roles ?? []).map((r) => (
            <List.Item key={word(r)}>{word(r)}</List.Item>
          ))}
        </List>
      </Part>
      <Part title={t("tokens-mine")}>
        <Tokens owner={{}} allowed />
      </Part>
      <Part title={t("my-password")}>
        {me?.has_password ? <OwnPassword name={me.name} /> : <Text size="sm">{t("my-password-none")}</Text>}
      </Part>
    </Stack>
  );
}

function OwnPassword({ name }: { name: string }) {
  const { t } = useTranslation("people");
  const [now, setNow] = useState("");
  const [next, setNext] = useState("");
  const [again, setAgain] = useState("");
  const [changed, setChanged] = useState(false);
  const write = useWrite();
  const errors = useFieldTexts(write.problem);
  const short = next !== "" && next.length < leastPassword;
  const differs = again !== "" && again !== next;
  const change = async () => {
    setChanged(false);
    const body = { password: now, new_password: next };
    if (!(await write.run(() => data(client.PUT("/api/v1/me/password", { body }))))) return;
    for (const clear of [setNow, setNext, setAgain]) clear("");
    setChanged(true);
  };
  return (
    <form
      aria-label={t("my-password")}
      onSubmit={(e) => {
        e.preventDefault();
        void change();
      }}
    >
      <Stack gap="sm" maw={420}>
        <input type="text" name="username" autoComplete="username" value={name} readOnly hidden />
        <NewPassword
          label={t("password-now")}
          value={now}
          onChange={setNow}
          autoComplete="current-password"
          error={errors.get("/password")}
          required
        />
        <NewPassword
          label={t("password-next")}
          description={t("password-least", { n: leastPassword })}
          value={next}
          onChange={setNext}
          error={errors.get("/new_password") ?? (short ? t("password-short", { n: leastPassword }) : undefined)}
          required
        />
        <NewPassword
          label={t("password-again")}
          value={again}
          onChange={setAgain}
          error={differs ? t("password-differs") : undefined}
          required
        />
        <Text size="sm">{t("my-password-effect")}</Text>
        {write.problem ? <ProblemNote problem={write.problem} /> : null}
        <Group>
          <Button type="submit" loading={write.busy} disabled={!now || !next || short || next !== again}>
            {t("password-change")}
          </Button>
          <Text size="sm" role="status">
            {changed ? t("password-changed") : ""}
          </Text>
        </Group>
      </Stack>
    </form>
  );
}
