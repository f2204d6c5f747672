import { Button, Group, Modal, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useFormat } from "../../../format/useFormat";
import { ProblemNote } from "../../../ui/ProblemNote";
import { useOperationKey } from "../../../ui/useOperationKey";
import { useFieldTexts } from "../../../ui/useWrite";
import { MergeNote } from "../../parts/MergeNote";
import { type MergedForm, useMergedForm } from "../../parts/useMergedForm";
import { type Draft, draftOf, type Maintenance, newDraft, requestOf } from "./draft";

type Props = { fabric: string; old: Maintenance | undefined; onClose: () => void };
type Request = NonNullable<ReturnType<typeof requestOf>>;
type Version = { body: Draft; etag: string };

const versionOf = (m: Maintenance): Version => ({ body: draftOf(m), etag: `"${m.version}"` });

/** The texts of the fields' labels. */
const labels = {
  starts: "starts",
  ends: "ends",
  en: "text-en",
  zh: "text-zh",
  tenants: "tenants",
  places: "places",
} as const satisfies Record<keyof Draft, string>;

/**
 * Announces maintenance, or changes it. It is sent only after a preview of the same contents, and by a button of its own: neither Enter nor a
 * second press of the preview announces anything. A newer version is merged into the form by field.
 */
export function MaintenanceDialog({ fabric, old, onClose }: Props) {
  const { t } = useTranslation(["maintenance", "common"]);
  const [first] = useState<Version>(() => (old ? versionOf(old) : { body: newDraft(new Date()), etag: "" }));
  const merged = useMergedForm(first, (d: Draft) => d);
  const { form: draft, open } = merged;
  const request = open > 0 ? undefined : requestOf(draft);
  const { preview, send } = useWrites(fabric, old?.id, request, merged.send, onClose);
  const touches = preview.data && preview.data.of === JSON.stringify(request) ? preview.data.touches : undefined;
  const problem = send.error ?? preview.error;
  const submit = () => {
    send.reset(); // a refusal of earlier contents
    if (request) preview.mutate(request);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={t(old ? "edit-title" : "add-title")}
      size="lg"
      closeButtonProps={{ "aria-label": t("common:close") }}
    >
      <form
        onSubmit={(e) => {
          e.preventDefault();
          submit();
        }}
      >
        <Stack>
          <MergeNote merged={merged} label={(f) => t(labels[f])} word={(f, d) => d[f] || t("common:none")} />
          <Fields draft={draft} onChange={merged.setForm} problem={problem ?? undefined} />
          <div role="status">
            <Preview touches={touches} />
          </div>
          {problem ? <ProblemNote problem={problem} /> : null}
          <Group justify="flex-end">
            <Button type="submit" variant="default" loading={preview.isPending} disabled={!request || send.isPending}>
              {t("preview")}
            </Button>
            <Button variant="default" onClick={onClose}>
              {t("common:cancel")}
            </Button>
            <Button
              loading={send.isPending}
              disabled={!request || !touches}
              onClick={() => request && send.mutate(request)}
            >
              {touches ? t(old ? "save" : "send", { n: touches.length }) : t(old ? "edit-title" : "add-title")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function Fields({
  draft,
  onChange,
  problem,
}: {
  draft: Draft;
  onChange: (d: Draft) => void;
  problem: Error | undefined;
}) {
  const { t } = useTranslation("maintenance");
  const errors = useFieldTexts(problem);
  const below = (pointer: string) => [...errors].find(([p]) => p === pointer || p.startsWith(`${pointer}/`))?.[1];
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const field = (key: keyof Draft) => ({
    value: draft[key],
    onChange: (e: { currentTarget: { value: string } }) => onChange({ ...draft, [key]: e.currentTarget.value }),
  });
  return (
    <>
      <Group grow align="flex-start">
        <TextInput
          type="datetime-local"
          label={t("starts")}
          description={t("local", { zone })}
          required
          {...field("starts")}
        />
        <TextInput
          type="datetime-local"
          label={t("ends")}
          description={t("local", { zone })}
          required
          error={errors.get("/ends_at")}
          {...field("ends")}
        />
      </Group>
      <Textarea
        label={t("text-en")}
        description={t("text-help")}
        maxLength={500}
        autosize
        error={errors.get("/text/en") ?? errors.get("/text")}
        {...field("en")}
      />
      <Textarea label={t("text-zh")} maxLength={500} autosize error={errors.get("/text/zh")} {...field("zh")} />
      <Group grow align="flex-start">
        <Textarea
          label={t("tenants")}
          description={t("tenants-help")}
          autosize
          minRows={2}
          spellCheck={false}
          error={below("/scope/tenants")}
          {...field("tenants")}
        />
        <Textarea
          label={t("places")}
          description={t("places-help")}
          autosize
          minRows={2}
          spellCheck={false}
          error={below("/scope/places")}
          {...field("places")}
        />
      </Group>
    </>
  );
}

function Preview({ touches }: { touches: string[] | undefined }) {
  const { t } = useTranslation("maintenance");
  const { list } = useFormat();
  if (!touches) return <Text size="sm">{t("preview-first")}</Text>;
  if (touches.length === 0) return <Text>{t("preview-none")}</Text>;
  return (
    <Text className="fl-name">
      {t("preview-touches", { n: touches.length })} {list(touches)}
    </Text>
  );
}

/** Previews and sends: a new announcement, or a change of the one with the id. Neither has a result when a newer version was merged instead. */
function useWrites(
  fabric: string,
  id: string | undefined,
  request: Request | undefined,
  merging: MergedForm<Draft, Draft>["send"],
  onDone: () => void,
) {
  const cache = useQueryClient();
  const key = useOperationKey(request);
  const add = (body: Request, dry: boolean) =>
    data(
      client.POST("/api/v1/fabrics/{fabric}/maintenance", {
        params: { path: { fabric }, query: { dry_run: dry }, header: dry ? {} : { "Idempotency-Key": key } },
        body,
      }),
    );
  const change = (maintenance: string, body: Request, dry: boolean) => {
    const path = { fabric, maintenance };
    return merging(
      (etag) =>
        data(
          client.PUT("/api/v1/fabrics/{fabric}/maintenance/{maintenance}", {
            params: { path, query: { dry_run: dry }, header: { "If-Match": etag } },
            body,
          }),
        ),
      async () =>
        versionOf(await data(client.GET("/api/v1/fabrics/{fabric}/maintenance/{maintenance}", { params: { path } }))),
    );
  };
  const put = (body: Request, dry: boolean) => (id === undefined ? add(body, dry) : change(id, body, dry));
  const preview = useMutation({
    mutationFn: async (body: Request) => ({ of: JSON.stringify(body), touches: (await put(body, true))?.touches }),
  });
  const send = useMutation({
    mutationFn: (body: Request) => put(body, false),
    onSuccess: (done) => {
      if (!done) return;
      void cache.invalidateQueries({ queryKey: keys.maintenance(fabric) });
      onDone();
    },
  });
  return { preview, send };
}
