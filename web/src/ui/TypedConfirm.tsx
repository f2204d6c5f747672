import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ProblemNote } from "./ProblemNote";

type Props = {
  opened: boolean;
  onClose: () => void;
  /** What will happen, as the dialog's title. */
  title: string;
  /** What it changes, and how to undo it. */
  children: React.ReactNode;
  /** The text to type; none where the effect is small and can be undone. */
  type?: string;
  /** The button says the effect, such as "Send 128 settings to 32 ports". */
  effect: string;
  /** What the other button says, "Cancel" unless said here: of a cancellation, it would name both buttons. */
  keep?: string;
  /** Width of the dialog, "lg" unless said here: a preview with tables needs more. */
  size?: string;
  danger?: boolean;
  onConfirm: () => void;
  busy?: boolean;
  problem?: unknown;
  disabled?: boolean;
};

/** Asks before a write. With `type`, the button stays off until the text is typed, and Enter does not press it. */
export function TypedConfirm(p: Props) {
  const { t } = useTranslation("shell");
  const [typed, setTyped] = useState("");
  const close = () => {
    setTyped("");
    p.onClose();
  };
  return (
    <Modal
      opened={p.opened}
      onClose={close}
      title={p.title}
      size={p.size ?? "lg"}
      closeButtonProps={{ "aria-label": t("close") }}
    >
      <Stack gap="md">
        {p.children}
        {p.type ? (
          <TextInput
            label={t("type-to-confirm", { text: p.type })}
            description={t("type-to-confirm-why")}
            value={typed}
            autoComplete="off"
            spellCheck={false}
            onChange={(e) => setTyped(e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key === "Enter") e.preventDefault();
            }}
          />
        ) : null}
        {p.problem ? <ProblemNote problem={p.problem} /> : null}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {p.keep ?? t("cancel")}
          </Button>
          <Button
            color={p.danger ? "red.9" : undefined}
            loading={p.busy}
            disabled={p.disabled || (p.type !== undefined && typed !== p.type)}
            onClick={p.onConfirm}
          >
            {p.effect}
          </Button>
        </Group>
        {p.type && typed !== "" && typed !== p.type ? (
          <Text size="sm" c="dimmed" role="status">
            {t("type-to-confirm-not-yet")}
          </Text>
        ) : null}
      </Stack>
    </Modal>
  );
}
