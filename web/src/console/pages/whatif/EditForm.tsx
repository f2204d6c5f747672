import { Autocomplete, Button, Group, NativeSelect, Stack, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Icon } from "../../../ui/icons";
import { useDraft } from "../../../ui/useDraft";
import { useTenants } from "../tenants/queries";
import { asks, type EditKind, editText, kinds, parseEdits } from "./edits";

type Props = { fabric: string; text: string; onCompare: (edits: string) => void };

/** Collects edits: by a form that writes them, or as text. Nothing is stored. */
export function EditForm({ fabric, text, onCompare }: Props) {
  const { t } = useTranslation("whatif");
  const [draft, setDraft] = useDraft(text);
  const add = (edit: string) => setDraft([...parseEdits(draft), edit].join("\n"));
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        onCompare(parseEdits(draft).join("\n"));
      }}
    >
      <Stack gap="sm">
        <EditBuilder fabric={fabric} onAdd={add} />
        <Textarea
          label={t("edits")}
          description={t("edits-help")}
          autosize
          minRows={3}
          value={draft}
          spellCheck={false}
          onChange={(e) => setDraft(e.currentTarget.value)}
        />
        <Group>
          <Button type="submit" disabled={parseEdits(draft).length === 0}>
            {t("compare")}
          </Button>
          <Button
            variant="default"
            disabled={draft === ""}
            onClick={() => {
              setDraft("");
              onCompare("");
            }}
          >
            {t("clear")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function EditBuilder({ fabric, onAdd }: { fabric: string; onAdd: (edit: string) => void }) {
  const { t } = useTranslation("whatif");
  const [kind, setKind] = useState<EditKind>("weight");
  const [subject, setSubject] = useState("");
  const [value, setValue] = useState("");
  const tenants = useTenants(fabric);
  const ask = asks[kind];
  const names = ask.subject === "tenant" ? (tenants.data?.map((x) => x.name) ?? []) : [];
  const ready = subject.trim() !== "" && (ask.value === undefined || value.trim() !== "");
  return (
    <Group align="flex-end" gap="sm">
      <NativeSelect
        label={t("kind")}
        value={kind}
        data={kinds.map((k) => ({ value: k, label: t(`kind.${k}`) }))}
        onChange={(e) => setKind(e.currentTarget.value as EditKind)}
      />
      <Autocomplete
        label={t(`subject.${ask.subject}`)}
        value={subject}
        onChange={setSubject}
        data={names}
        limit={50}
        autoComplete="off"
      />
      {ask.value === undefined ? null : (
        <TextInput
          label={t(`value.${kind}`)}
          placeholder={ask.value}
          value={value}
          onChange={(e) => setValue(e.currentTarget.value)}
        />
      )}
      <Button
        variant="default"
        leftSection={<Icon name="plus" />}
        disabled={!ready}
        onClick={() => {
          onAdd(editText(kind, subject, value));
          setValue("");
        }}
      >
        {t("add")}
      </Button>
    </Group>
  );
}
