import { Tooltip } from "@mantine/core";
import type { ReactNode } from "react";

/** A word with an explanation, shown on hover, on focus and on touch. */
export function Tip({ label, className, children }: { label: string; className?: string; children: ReactNode }) {
  return (
    <Tooltip label={label} multiline maw="20rem" events={{ hover: true, focus: true, touch: true }}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the focus shows the explanation */}
      <span className={className} tabIndex={0}>
        {children}
      </span>
    </Tooltip>
  );
}
