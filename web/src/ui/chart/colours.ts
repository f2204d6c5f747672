import { useEffect, useState } from "react";

/** The colours of a canvas, which knows no CSS variables: read from the theme when drawn. */
export type Colours = {
  series: string[];
  ink: string;
  soft: string;
  ground: string;
  grid: string;
  hatch: string;
  band: string;
  font: string;
};

const fallback = ["#0072b2", "#c04f00", "#00795a", "#a3477a", "#8a6d00", "#1b7fa8", "#5a3d9a", "#4a555e"];

export function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const of = (name: string, otherwise: string) => style.getPropertyValue(`--fl-${name}`).trim() || otherwise;
  const ink = of("ink", "#1b2126");
  return {
    series: fallback.map((colour, i) => of(`series-${i + 1}`, colour)),
    ink,
    soft: of("ink-soft", ink),
    ground: of("ground", "#ffffff"),
    grid: of("grid", "#dde3e7"),
    hatch: of("hatch", "#7b8791"),
    band: of("band", "rgb(0 114 178 / 16%)"),
    font: style.fontFamily || "sans-serif",
  };
}

/** Counts the changes of the theme, for a canvas to draw itself afresh. */
export function useThemeCount(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const observer = new MutationObserver(() => setCount((n) => n + 1));
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });
    return () => observer.disconnect();
  }, []);
  return count;
}
