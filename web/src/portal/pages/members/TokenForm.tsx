import { Alert, Button, Checkbox, Group, NativeSelect, Paper, Stack, TextInput, Title } from "@mantine/core";
import type { QueryKey } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { Copyable } from "../../../ui/CopyAs";
import { Icon } from "../../../ui/icons";
import { ProblemNote } from "../../../ui/ProblemNote";
import { useFieldTexts } from "../../../ui/useWrite";
import { useSend } from "./useSend";

type Body = Schemas["TokenCreate"];
type Made = Schemas["NewToken"];

/** Objects that a token of a tenant's account can be limited to. */
const objects = ["share", "tenant", "attachment", "class", "event", "member", "service-account"];

/** Lifetimes in days. */
const lives = [1, 7, 30, 90, 365];

type Props = { label: string; create: (body: Body) => Promise<Made>; stale: QueryKey };

/** Makes a token. Its secret is in this component's state alone: it is shown once, and is gone with the page. */
export function TokenForm({ label, create, stale }: Props) {
  const { t } = useTranslation("members");
  const { busy, problem, send } = useSend();
  const errors = useFieldTexts(problem);
  const [name, setName] = useState("");
  const [days, setDays] = useState("90");
  const [scopes, setScopes] = useState<string[]>([]);
  const [made, setMade] = useState<Made>();
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const body: Body = { name, expires_in_s: Number(days) * 86_400, ...(scopes.length ? { scopes } : {}) };
    void send(
      () => create(body),
      [stale],
      (got) => {
        setMade(got);
        setName("");
      },
    );
  };
  if (made) return <Secret made={made} onDone={() => setMade(undefined)} />;
  return (
    <Paper withBorder p="md" component="form" onSubmit={submit as never} aria-label={label}>
      <Stack gap="sm">
        <Title order={2}>{label}</Title>
        <Group align="start">
          <TextInput
            label={t("token-name")}
            description={t("token-name-how")}
            value={name}
            error={errors.get("/name")}
            maxLength={63}
            autoComplete="off"
            required
            onChange={(e) => setName(e.currentTarget.value)}
          />
          <NativeSelect
            label={t("token-life")}
            description={t("token-life-how")}
            value={days}
            data={lives.map((n) => ({ value: String(n), label: t("days", { n }) }))}
            onChange={(e) => setDays(e.currentTarget.value)}
          />
        </Group>
        <Checkbox.Group label={t("scopes")} description={t("scopes-how")} value={scopes} onChange={setScopes}>
          <Group gap="md" mt="xs">
            {["*", ...objects].map((o) => (
              <Checkbox key={o} value={`${o}:read`} label={t(`scope.${o === "*" ? "all" : o}`)} />
            ))}
          </Group>
        </Checkbox.Group>
        {problem ? <ProblemNote problem={problem} /> : null}
        <Group>
          <Button type="submit" loading={busy} disabled={name === ""}>
            {name ? t("token-create", { name }) : t("token-create-any")}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}

function Secret({ made, onDone }: { made: Made; onDone: () => void }) {
  const { t } = useTranslation("members");
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="warning" />} title={t("secret-once")} data-secret="shown">
      <Stack gap="sm">
        <Copyable label={t("secret-of", { name: made.token.name })} text={made.secret} />
        <Group>
          <Button variant="default" onClick={onDone}>
            {t("secret-done")}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
