import type { Marker } from "./types";

/** The outline of a marker about (0, 0) within 4 units, as an SVG path; canvas and legend draw the same. */
export const markerPaths: Record<Marker, { d: string; fill: boolean }> = {
  circle: { d: "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", fill: true },
  square: { d: "M-3 -3h6v6h-6z", fill: true },
  triangle: { d: "M0 -4L4 3H-4z", fill: true },
  diamond: { d: "M0 -4.5L4 0L0 4.5L-4 0z", fill: true },
  cross: { d: "M-3 -3L3 3M-3 3L3 -3", fill: false },
  plus: { d: "M-4 0H4M0 -4V4", fill: false },
  bar: { d: "M0 -4.5V4.5", fill: false },
  ring: { d: "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", fill: false },
  none: { d: "", fill: false },
};
