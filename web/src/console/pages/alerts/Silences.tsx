import { Button, Group, Modal, NativeSelect, Stack, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { all, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useCan } from "../../../shell/me";
import { ProblemNote } from "../../../ui/ProblemNote";
import { Quote } from "../../../ui/Said";
import { StateBadge } from "../../../ui/StateBadge";
import { Empty, QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useOperationKey } from "../../../ui/useOperationKey";
import { When } from "../../../ui/When";
import { ActionButton } from "../../parts/ActionButton";
import { Part } from "../../parts/Part";

type Silence = Schemas["Silence"];

/** Manages silences, which stop the notifications of alerts for a time. */
export function Silences({ fabric }: { fabric: string }) {
  const { t } = useTranslation("alerts");
  const can = useCan();
  const [adding, setAdding] = useState(false);
  const [ending, setEnding] = useState<Silence>();
  const mayRead = can("silence", "read");
  const list = useQuery({
    queryKey: keys.silences(),
    queryFn: () =>
      all((cursor) =>
        data(client.GET("/api/v1/silences", { params: { query: { expired: true, limit: 1000, cursor } } })),
      ),
    enabled: mayRead,
  });
  if (!mayRead) return null;
  return (
    <Part
      title={t("silences")}
      aside={
        <ActionButton variant="default" allowed={can("silence", "write")} onClick={() => setAdding(true)}>
          {t("silence-add")}
        </ActionButton>
      }
    >
      <QueryView query={list}>
        {(items) => <SilenceTable items={items} may={can("silence", "write")} onEnd={setEnding} />}
      </QueryView>
      {adding ? <AddSilence fabric={fabric} onClose={() => setAdding(false)} /> : null}
      {ending ? <EndSilence silence={ending} onClose={() => setEnding(undefined)} /> : null}
    </Part>
  );
}

function SilenceTable({ items, may, onEnd }: { items: Silence[]; may: boolean; onEnd: (s: Silence) => void }) {
  const { t } = useTranslation(["alerts", "common"]);
  const columns = useMemo<Column<Silence>[]>(
    () => [
      {
        id: "matchers",
        header: t("matchers"),
        value: (s) => s.matchers.join(", "),
        cell: (s) => <code className="fl-name">{s.matchers.join(", ")}</code>,
      },
      {
        id: "comment",
        header: t("comment"),
        value: (s) => s.comment,
        cell: (s) => <Quote>{s.comment}</Quote>,
      },
      {
        id: "state",
        header: t("common:state"),
        value: (s) => t(`silence-state.${s.state}`),
        cell: (s) => (
          <StateBadge tone={s.state === "active" ? "info" : "neutral"}>{t(`silence-state.${s.state}`)}</StateBadge>
        ),
      },
      {
        id: "starts",
        header: t("starts"),
        value: (s) => s.starts_at,
        cell: (s) => <When at={s.starts_at} />,
        hidden: true,
      },
      { id: "ends", header: t("ends"), value: (s) => s.ends_at, cell: (s) => <When at={s.ends_at} /> },
      { id: "author", header: t("common:actor"), value: (s) => s.author },
      {
        id: "end",
        header: t("end-now"),
        missing: "",
        cell: (s) =>
          s.state === "expired" ? undefined : (
            <ActionButton size="compact-sm" variant="default" allowed={may} onClick={() => onEnd(s)}>
              {t("end-now")}
            </ActionButton>
          ),
      },
    ],
    [t, may, onEnd],
  );
  return (
    <DataTable
      caption={t("silences")}
      rows={items}
      columns={columns}
      rowId={(s) => String(s.id)}
      filterLabel={items.length < 12 ? "" : t("silences-filter")}
      empty={<Empty title={t("silences-none")} why={t("silences-none-why")} />}
      maxHeight="20rem"
      columnMenu
    />
  );
}

/** Lengths of a silence in hours. */
const hours = [1, 4, 12, 24, 72, 168] as const;

function AddSilence({ fabric, onClose }: { fabric: string; onClose: () => void }) {
  const { t } = useTranslation(["alerts", "common"]);
  const cache = useQueryClient();
  const [matchers, setMatchers] = useState(`fabric=${fabric}`);
  const [length, setLength] = useState("4");
  const [comment, setComment] = useState("");
  const list = matchers
    .split("\n")
    .map((m) => m.trim())
    .filter(Boolean);
  const key = useOperationKey([list, length, comment]);
  const sent = useRef({ key: "", ends_at: "" });
  const add = useMutation({
    mutationFn: () => {
      // A second press repeats the first request: under one key, the service accepts no other.
      if (sent.current.key !== key)
        sent.current = { key, ends_at: new Date(Date.now() + Number(length) * 3_600_000).toISOString() };
      return data(
        client.POST("/api/v1/silences", {
          params: { header: { "Idempotency-Key": key } },
          body: { matchers: list, ends_at: sent.current.ends_at, comment },
        }),
      );
    },
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: keys.silences() });
      onClose();
    },
  });
  return (
    <Modal
      opened
      onClose={onClose}
      title={t("silence-add")}
      size="lg"
      closeButtonProps={{ "aria-label": t("common:close") }}
    >
      <form
        onSubmit={(e) => {
          e.preventDefault();
          add.mutate();
        }}
      >
        <Stack>
          <Textarea
            label={t("matchers")}
            description={t("matchers-help")}
            autosize
            minRows={2}
            value={matchers}
            spellCheck={false}
            onChange={(e) => setMatchers(e.currentTarget.value)}
            required
          />
          <NativeSelect
            label={t("length")}
            value={length}
            onChange={(e) => setLength(e.currentTarget.value)}
            data={hours.map((h) => ({ value: String(h), label: t("hours", { n: h }) }))}
          />
          <TextInput
            label={t("comment")}
            description={t("comment-help")}
            maxLength={500}
            value={comment}
            onChange={(e) => setComment(e.currentTarget.value)}
            required
          />
          {add.error ? <ProblemNote problem={add.error} /> : null}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t("common:cancel")}
            </Button>
            <Button type="submit" loading={add.isPending} disabled={list.length === 0 || comment.trim() === ""}>
              {t("silence-for", { n: Number(length) })}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function EndSilence({ silence, onClose }: { silence: Silence; onClose: () => void }) {
  const { t } = useTranslation("alerts");
  const cache = useQueryClient();
  const end = useMutation({
    mutationFn: () => data(client.DELETE("/api/v1/silences/{silence}", { params: { path: { silence: silence.id } } })),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: keys.silences() });
      onClose();
    },
  });
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("end-title")}
      effect={t("end-effect")}
      onConfirm={() => end.mutate()}
      busy={end.isPending}
      problem={end.error}
    >
      {t("end-what", { matchers: silence.matchers.join(", ") })}
    </TypedConfirm>
  );
}
