import { Button, Group, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { ProblemNote } from "../../../ui/ProblemNote";
import { Findings } from "../../parts/Findings";
import { mostEdits, whatIf } from "../../parts/plans";
import { SharesTable } from "../../parts/SharesTable";
import { weightOf } from "./amounts";
import { BulkTable } from "./BulkTable";
import { type BulkRule, bulkChanges, bulkEdits, isValid, type ValidChange } from "./bulk";
import type { Tenant } from "./queries";

type Props = {
  fabric: string;
  tenants: Tenant[];
  onSave: (changes: ValidChange[]) => void;
  onClose: () => void;
};

/** Chooses the rule, and shows every weight before and after with the predicted shares before it saves. */
export function BulkForm({ fabric, tenants, onSave, onClose }: Props) {
  const { t } = useTranslation(["tenants", "shell"]);
  const [mode, setMode] = useState<BulkRule["mode"]>("set");
  const [text, setText] = useState("");
  const by = weightOf(text);
  const changes = useMemo(() => (by === undefined ? [] : bulkChanges(tenants, { mode, by })), [tenants, mode, by]);
  const valid = changes.filter(isValid);
  const edits = bulkEdits(valid);
  const preview = useMutation({
    mutationFn: (e: string[]) => whatIf(fabric, e).then((got) => ({ ...got, of: e.join() })),
  });
  const shown = preview.data?.of === edits.join() ? preview.data : undefined;
  const many = edits.length > mostEdits;
  return (
    <form
      noValidate
      onSubmit={(e) => {
        e.preventDefault();
        if (edits.length === 0) return;
        if (shown || many) onSave(valid);
        else preview.mutate(edits);
      }}
    >
      <Stack gap="md">
        <Rule mode={mode} setMode={setMode} text={text} setText={setText} wrong={text !== "" && by === undefined} />
        {changes.length > 0 ? <BulkTable changes={changes} /> : null}
        {by !== undefined && changes.length === 0 ? <Text role="status">{t("bulk-same")}</Text> : null}
        {many ? <Text role="status">{t("bulk-many", { most: mostEdits })}</Text> : null}
        {preview.error ? <ProblemNote problem={preview.error} /> : null}
        {shown ? (
          <>
            <SharesTable before={shown.before.tenants} after={shown.after.tenants} csvName={`${fabric}-what-if`} />
            <Findings items={[...shown.notices, ...shown.findings]} />
          </>
        ) : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("shell:cancel")}
          </Button>
          <Button type="submit" loading={preview.isPending} disabled={edits.length === 0}>
            {shown || many ? t("bulk-save", { n: edits.length }) : t("preview-shares")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type RuleProps = {
  mode: BulkRule["mode"];
  setMode: (mode: BulkRule["mode"]) => void;
  text: string;
  setText: (text: string) => void;
  wrong: boolean;
};

function Rule({ mode, setMode, text, setText, wrong }: RuleProps) {
  const { t } = useTranslation("tenants");
  return (
    <Group align="flex-end">
      <SegmentedControl
        aria-label={t("bulk-rule")}
        value={mode}
        onChange={(v) => setMode(v === "set" ? "set" : "multiply")}
        data={[
          { value: "set", label: t("bulk-set") },
          { value: "multiply", label: t("bulk-multiply") },
        ]}
      />
      <TextInput
        label={t(mode === "set" ? "bulk-weight" : "bulk-factor")}
        value={text}
        onChange={(e) => setText(e.currentTarget.value)}
        error={wrong ? t("wrong-weight") : undefined}
        inputMode="decimal"
        autoComplete="off"
        data-autofocus
      />
    </Group>
  );
}
