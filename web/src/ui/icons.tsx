import type { SVGProps } from "react";

/** Names of the icons. Each is drawn on a grid of 16, with lines of the text's colour. */
export type IconName = keyof typeof drawings;

const question = "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.3 6.3a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.9.7-.9 1.3M8 11.3v.2";

const drawings = {
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  warning: "M8 2 1.5 13.5h13L8 2zM8 6.5v3.5M8 11.7v.3",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.2V11M8 5v.2",
  unknown: question,
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.3 1.6",
  dash: "M3.5 8h9",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.5v9l7-4.5-7-4.5z",
  undo: "M6 4 3 7l3 3M3.2 7H10a3 3 0 0 1 0 6H7",
  flow: "M2 5h9M8.5 2.5 11 5 8.5 7.5M14 11H5M7.5 8.5 5 11l2.5 2.5",
  broken: "M2 8h3.5M10.5 8H14M7 4.5 9 11.5",
  flask: "M6 2h4M6.8 2v4L3 13h10L9.2 6V2M4.8 10h6.4",
  lock: "M4 7.5h8V14H4zM5.5 7.5V5.3a2.5 2.5 0 0 1 5 0v2.2",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3 14 14",
  person: "M8 8a2.8 2.8 0 1 0 0-5.6A2.8 2.8 0 0 0 8 8zM2.8 14a5.2 5.2 0 0 1 10.4 0",
  copy: "M5.5 5.5H13V14H5.5zM3 10.5V2.5h7",
  download: "M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
  edit: "M2.5 13.5 3.3 10 10.8 2.5l2.7 2.7L6 12.7l-3.5.8zM9.3 4l2.7 2.7",
  plus: "M8 3v10M3 8h10",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  earlier: "M9 3L4 8l5 5M4 8h9",
  later: "M7 3l5 5-5 5M3 8h9",
  help: question,
} as const;

/** An icon beside a word: it says nothing to screen readers. */
export function Icon({
  name,
  size = 16,
  ...rest
}: { name: IconName; size?: number } & Omit<SVGProps<SVGSVGElement>, "name">) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.6}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      {...rest}
    >
      <path d={drawings[name]} />
    </svg>
  );
}
