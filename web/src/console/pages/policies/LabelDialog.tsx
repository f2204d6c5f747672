import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ProblemNote } from "../../../ui/ProblemNote";
import { useFieldTexts } from "../../../ui/useWrite";
import { useLabel } from "./queries";

type Props = { fabric: string; revision: number; label: string; onClose: () => void };

/** Edits the label of a revision: the only property of it that can change. */
export function LabelDialog({ fabric, revision, label, onClose }: Props) {
  const { t } = useTranslation(["policies", "shell"]);
  const [text, setText] = useState(label);
  const save = useLabel(fabric, revision);
  const error = useFieldTexts(save.error).get("/label");
  return (
    <Modal
      opened
      onClose={onClose}
      title={t("label-title", { revision })}
      closeButtonProps={{ "aria-label": t("shell:close") }}
    >
      <form
        onSubmit={(e) => {
          e.preventDefault();
          save.mutate(text.trim(), { onSuccess: onClose });
        }}
      >
        <Stack gap="md">
          <TextInput
            data-autofocus
            label={t("label")}
            description={t("label-why")}
            value={text}
            onChange={(e) => setText(e.currentTarget.value)}
            error={error}
          />
          {save.error && !error ? <ProblemNote problem={save.error} /> : null}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t("shell:cancel")}
            </Button>
            <Button type="submit" loading={save.isPending}>
              {text.trim() === "" && label !== "" ? t("label-remove") : t("label-save")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
