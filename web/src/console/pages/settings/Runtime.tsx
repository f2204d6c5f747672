import { Group, List, NumberInput, SimpleGrid, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { answer, client, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useCan } from "../../../shell/me";
import { ProblemNote } from "../../../ui/ProblemNote";
import { QueryView } from "../../../ui/states";
import { useFieldTexts, useWrite } from "../../../ui/useWrite";
import { When } from "../../../ui/When";
import { ActionButton } from "../../parts/ActionButton";
import { MergeNote } from "../../parts/MergeNote";
import { useMergedForm } from "../../parts/useMergedForm";

type Settings = Schemas["Settings"];

/** Fields in the order of the page: pointer in the document, least and largest value. */
const fields = {
  interval_s: { pointer: "/shares/interval_s", min: 0, max: 86_400 },
  window_ms: { pointer: "/shares/window_ms", min: 1, max: 60_000 },
  keep: { pointer: "/shares/keep", min: 1, max: 100_000 },
  tasks_keep: { pointer: "/tasks/keep", min: 1, max: 10_000 },
  tasks_limit: { pointer: "/tasks/limit", min: 1, max: 1000 },
} as const;
type Field = keyof typeof fields;
type Form = Record<Field, number>;
const names = Object.keys(fields) as Field[];

const formOf = (s: Settings): Form => ({
  interval_s: s.shares.interval_s ?? 0,
  window_ms: s.shares.window_ms ?? 100,
  keep: s.shares.keep ?? 10_000,
  tasks_keep: s.tasks.keep ?? 1000,
  tasks_limit: s.tasks.limit ?? 100,
});

type Read = { body: Settings; etag: string };

const read = (): Promise<Read> => answer(client.GET("/api/v1/settings"));

/** The settings that can change while the service runs. */
export function Runtime() {
  const { t } = useTranslation("settings");
  const query = useQuery({ queryKey: keys.settings(), queryFn: read });
  return (
    <QueryView query={query}>
      {(settings) => (
        <Stack gap="sm">
          <Text size="sm">{t("runtime-why")}</Text>
          <Text size="sm" c="dimmed">
            {settings.body.updated_at ? (
              <>
                {t("changed")} <When at={settings.body.updated_at} />
              </>
            ) : (
              t("runtime-defaults")
            )}
          </Text>
          <RuntimeForm settings={settings} />
        </Stack>
      )}
    </QueryView>
  );
}

function RuntimeForm({ settings }: { settings: Read }) {
  const { t } = useTranslation(["settings", "common"]);
  const can = useCan();
  const cache = useQueryClient();
  const allowed = can("settings", "write");
  const merged = useMergedForm(settings, formOf);
  const { form, setForm, original, open } = merged;
  const [saved, setSaved] = useState(false);
  const write = useWrite();
  const errors = useFieldTexts(write.problem);
  const changes = names.filter((f) => form[f] !== original[f]);
  const save = async () => {
    const { interval_s, window_ms, keep, tasks_keep, tasks_limit } = form;
    const body = { shares: { interval_s, window_ms, keep }, tasks: { keep: tasks_keep, limit: tasks_limit } };
    const done = await write.run(() =>
      merged.send(
        (tag) => answer<Settings>(client.PUT("/api/v1/settings", { params: { header: { "If-Match": tag } }, body })),
        read,
      ),
    );
    if (!done?.done) return;
    merged.restart(done.done);
    setSaved(true);
    await cache.invalidateQueries({ queryKey: keys.settings() });
  };
  return (
    <form
      aria-label={t("runtime")}
      onSubmit={(e) => {
        e.preventDefault();
        if (allowed && changes.length > 0 && open === 0) void save();
      }}
    >
      <Stack gap="sm">
        <MergeNote merged={merged} label={(f) => t(`field.${f}`)} word={(f, x) => String(x[f])} />
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
          {names.map((f) => (
            <NumberInput
              key={f}
              label={t(`field.${f}`)}
              description={t(`is.${f}`)}
              value={form[f]}
              min={fields[f].min}
              max={fields[f].max}
              allowDecimal={false}
              disabled={!allowed}
              onChange={(v) => setForm({ ...form, [f]: typeof v === "number" ? v : Number.parseInt(v, 10) || 0 })}
              error={errors.get(fields[f].pointer)}
            />
          ))}
        </SimpleGrid>
        {changes.length > 0 ? (
          <List size="sm" role="status">
            {changes.map((f) => (
              <List.Item key={f}>
                {t("change-line", { field: t(`field.${f}`), before: original[f], after: form[f] })}
              </List.Item>
            ))}
          </List>
        ) : null}
        {write.problem ? <ProblemNote problem={write.problem} /> : null}
        <Group>
          <ActionButton
            type="submit"
            allowed={allowed}
            loading={write.busy}
            disabled={allowed && (changes.length === 0 || open > 0)}
          >
            {t("runtime-save", { n: changes.length })}
          </ActionButton>
          <Text size="sm" role="status">
            {saved && changes.length === 0 ? t("runtime-saved") : ""}
          </Text>
        </Group>
      </Stack>
    </form>
  );
}
