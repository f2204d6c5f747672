import { Button, FileButton, Group, Stack, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { answer, client, type Schemas } from "../../../api/client";
import { useCan } from "../../../shell/me";
import { Copyable, shellWord } from "../../../ui/CopyAs";
import { ProblemNote } from "../../../ui/ProblemNote";
import { useWrite } from "../../../ui/useWrite";
import { ActionButton } from "../../parts/ActionButton";
import { To } from "../../parts/links";
import { mostBytes, readTenantSet, type TenantSet } from "./tenantSet";

type Result = Schemas["TenantSetResult"];

/** Sends the declaration: as a dry run, or with the ETag that the dry run returned. */
const put = (fabric: string, body: TenantSet, etag?: string) =>
  answer<Result>(
    client.PUT("/api/v1/fabrics/{fabric}/tenants", {
      params: { path: { fabric }, query: etag ? {} : { dry_run: true }, header: etag ? { "If-Match": etag } : {} },
      body,
    }),
  );

/** Declares tenants from JSON: a preview first, then the same declaration. Without a fabric, the button says what to do first. */
export function ImportTenants({ fabric }: { fabric: string | undefined }) {
  const { t } = useTranslation("first");
  const can = useCan();
  const [text, setText] = useState("");
  const [preview, setPreview] = useState<{ text: string; result: Result; etag: string }>();
  const [done, setDone] = useState<Result>();
  const [wrong, setWrong] = useState<string>();
  const write = useWrite();
  const reason = fabric ? undefined : t("import-no-fabric");
  const current = preview?.text === text ? preview : undefined;
  const send = async (etag?: string) => {
    const read = readTenantSet(text);
    setWrong("wrong" in read ? read.wrong : undefined);
    if ("wrong" in read || !fabric) return;
    const got = await write.run(() => put(fabric, read.set, etag));
    if (!got) return;
    if (etag) setDone(got.done.body);
    else setPreview({ text, result: got.done.body, etag: got.done.etag });
  };
  const count = current ? current.result.created.length + current.result.updated.length : 0;
  return (
    <Stack gap="sm" data-part="import">
      <Text size="sm">{t("import-why")}</Text>
      <Copyable
        label={t("import-command")}
        text={`fairlane tenant apply -f tenants.yaml --fabric ${fabric ? shellWord(fabric) : "NAME"}`}
      />
      <Textarea
        label={t("import-text")}
        description={t("import-is")}
        value={text}
        onChange={(e) => setText(e.currentTarget.value)}
        error={wrong ? t(`import-wrong.${wrong}`) : undefined}
        autosize
        minRows={4}
        maxRows={14}
        disabled={!fabric || done !== undefined}
        spellCheck={false}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
      />
      {current && !done ? <Text role="status">{t("import-preview", counts(current.result))}</Text> : null}
      {write.problem ? <ProblemNote problem={write.problem} /> : null}
      {done && fabric ? <Done fabric={fabric} result={done} /> : null}
      <Group gap="sm">
        <Upload disabled={!fabric || done !== undefined} onText={setText} onLarge={() => setWrong("large")} />
        <ActionButton
          variant={current ? "default" : "filled"}
          allowed={can("tenant", "write", fabric)}
          reason={reason ?? (done ? t("import-once") : text.trim() === "" ? t("import-empty") : undefined)}
          loading={write.busy && !current}
          onClick={() => void send()}
        >
          {t("import-check")}
        </ActionButton>
        {current && !done ? (
          <Button loading={write.busy} disabled={count === 0} onClick={() => void send(current.etag)}>
            {t("import-do", { n: count, fabric: fabric ?? "" })}
          </Button>
        ) : null}
      </Group>
    </Stack>
  );
}

const counts = (r: Result) => ({
  created: r.created.length,
  updated: r.updated.length,
  unchanged: r.unchanged.length,
  flows: r.flows_changed ? "yes" : "no",
});

function Upload({
  disabled,
  onText,
  onLarge,
}: {
  disabled: boolean;
  onText: (text: string) => void;
  onLarge: () => void;
}) {
  const { t } = useTranslation("first");
  return (
    <FileButton
      accept="application/json,.json"
      disabled={disabled}
      onChange={(file) => {
        if (!file) return;
        if (file.size > mostBytes) onLarge();
        else void file.text().then(onText);
      }}
    >
      {(props) => (
        <Button {...props} variant="default" disabled={disabled}>
          {t("import-file")}
        </Button>
      )}
    </FileButton>
  );
}

function Done({ fabric, result }: { fabric: string; result: Result }) {
  const { t } = useTranslation("first");
  return (
    <Text role="status">
      {t("import-done", { n: result.created.length + result.updated.length })}{" "}
      <To to="/console/f/$fabric/plans" params={{ fabric }} search={{ compile: "now" }}>
        {t("next-plan")}
      </To>
    </Text>
  );
}
