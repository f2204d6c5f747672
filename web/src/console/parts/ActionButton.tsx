import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import { useId } from "react";
import { useTranslation } from "react-i18next";

type Props = ButtonProps & {
  onClick?: () => void;
  /** A button of a form; without the right it does not submit. */
  type?: "submit";
  /** Whether the reader's roles include the action. */
  allowed?: boolean;
  /** Why the action is not possible, although the reader may do it. */
  reason?: string;
  children: React.ReactNode;
};

/** A button that stays in place when it cannot be used, and says why: on hover, on focus and to screen readers. */
export function ActionButton({ allowed = true, reason, onClick, children, ...rest }: Props) {
  const { t } = useTranslation("parts");
  const id = useId();
  const why = allowed ? reason : t("not-allowed");
  if (!why) {
    return (
      <Button {...rest} onClick={onClick}>
        {children}
      </Button>
    );
  }
  return (
    <>
      <Tooltip label={why} events={{ hover: true, focus: true, touch: true }} multiline maw={320}>
        <Button {...rest} data-disabled aria-disabled="true" aria-describedby={id} onClick={(e) => e.preventDefault()}>
          {children}
        </Button>
      </Tooltip>
      <span id={id} className="fl-visually-hidden">
        {why}
      </span>
    </>
  );
}
