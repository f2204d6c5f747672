import type { SVGProps } from "react";

/** Names of the icons. Each is drawn on a grid of 16, with lines of the text's colour. */
export type IconName = keyof typeof drawings;

const drawings = {
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  warning: "M8 2 1.5 13.5h13L8 2zM8 6.5v3.5M8 11.7v.3",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.2V11M8 5v.2",
  unknown: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.3 6.3a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.9.7-.9 1.3M8 11.3v.2",
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
  menu: "M2 4h12M2 8h12M2 12h12",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  language: "M2 4h7M5.5 2.5V4M7.5 4c-.6 3-2.5 5-5 6M4 6.5c.8 1.6 2 2.7 3.7 3.5M8.5 14l2.7-7 2.8 7M9.4 12h3.7",
  person: "M8 8a2.8 2.8 0 1 0 0-5.6A2.8 2.8 0 0 0 8 8zM2.8 14a5.2 5.2 0 0 1 10.4 0",
  copy: "M5.5 5.5H13V14H5.5zM3 10.5V2.5h7",
  download: "M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
  external: "M6 3H3v10h10v-3M9 2.5h4.5V7M13.2 2.8 7.5 8.5",
  edit: "M2.5 13.5 3.3 10 10.8 2.5l2.7 2.7L6 12.7l-3.5.8zM9.3 4l2.7 2.7",
  plus: "M8 3v10M3 8h10",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.3 6.3a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.9.7-.9 1.3M8 11.3v.2",
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
