import type { State } from "../model";

/** Colours of the picture, from the theme's variables: WebGL and canvas know none. */
export type Colours = {
  ink: string;
  soft: string;
  ground: string;
  inverse: string;
  info: string;
  /** Edges without contention. */
  faint: string;
  contended: string;
  down: string;
  path: string;
  states: Record<State, string>;
  font: string;
};

/** The variable of each state's colour; the legend uses the same. */
export const stateColour: Record<State, string> = {
  ok: "--fl-neutral",
  contended: "--fl-warn",
  drifted: "--fl-series-7",
  "below-share": "--fl-bad",
  down: "--fl-ink",
};

/** A sign for each state, so that colour is not the only difference. */
export const stateSign: Record<State, string> = { ok: "", contended: "!", drifted: "≠", "below-share": "↓", down: "×" };

/** Reads the colours of the theme in force. */
export function readColours(element: Element): Colours {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim() || "#808080";
  const ink = of("--fl-ink");
  const ground = of("--fl-ground");
  return {
    ink,
    soft: of("--fl-ink-soft"),
    ground,
    inverse: of("--fl-ink-inverse"),
    info: of("--fl-info"),
    faint: mixed(ink, ground, 0.5), // with thin lines, less is hardly to see on either ground
    contended: of(stateColour.contended),
    down: of(stateColour.down),
    path: of("--fl-series-1"),
    states: {
      ok: of(stateColour.ok),
      contended: of(stateColour.contended),
      drifted: of(stateColour.drifted),
      "below-share": of(stateColour["below-share"]),
      down: of(stateColour.down),
    },
    font: style.fontFamily || "sans-serif",
  };
}

/** A colour at `part` of ink on a ground. Opaque, so that edges that lie on each other do not add up to a band. */
export function mixed(ink: string, ground: string, part: number): string {
  const [a, b] = [channels(ink), channels(ground)];
  const mix = [0, 1, 2].map((i) => Math.round((a[i] ?? 0) * part + (b[i] ?? 0) * (1 - part)));
  return `#${mix.map((n) => n.toString(16).padStart(2, "0")).join("")}`;
}

/** Red, green and blue of `#rrggbb` or `#rgb`: the build shortens colours. Grey for what is neither. */
function channels(colour: string): number[] {
  const digits = /^#([0-9a-f]{6})$/i.exec(colour)?.[1] ?? /^#([0-9a-f]{3})$/i.exec(colour)?.[1]?.replace(/./g, "$&$&");
  return [0, 2, 4].map((i) => Number.parseInt(digits?.slice(i, i + 2) ?? "80", 16));
}
