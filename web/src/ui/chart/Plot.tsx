import "uplot/dist/uPlot.min.css";
import { useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import uPlot from "uplot";
import { coloursOf, useThemeCount } from "./colours";
import { type Live, optionsOf } from "./options";
import { aligned } from "./series";
import type { ChartBand, ChartSeries } from "./types";

type PlotProps = {
  /** Name and summary: the picture itself says nothing to a screen reader. */
  label: string;
  times: number[];
  series: ChartSeries[];
  bands: ChartBand[];
  hidden: ReadonlySet<number>;
  height: number;
  sync?: string;
  live: Live;
};

/** The canvas. A new shape (lines, theme, language) makes a new plot; new values, range and marks only draw again. */
export function Plot({ label, times, series, bands, hidden, height, sync, live }: PlotProps) {
  const { i18n } = useTranslation("ui");
  const language = i18n.language;
  const theme = useThemeCount();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const data = useMemo(() => aligned(times, series, bands), [times, series, bands]);
  const latest = useRef({ live, data, series, bands, hidden });
  latest.current = { live, data, series, bands, hidden };
  const lines = JSON.stringify([series.map(({ values: _, ...look }) => look), bands.map((b) => b.label), [...hidden]]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `lines` stands for the looks of series and bands, `theme` for the colours
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const { data, ...shape } = latest.current;
    const width = Math.max(element.clientWidth, 200);
    const made = new uPlot(
      optionsOf({ ...shape, width, height, colours: coloursOf(element), language, sync }, () => latest.current.live),
      data,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== made.width)
        made.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [lines, theme, language, height, sync]);
  useEffect(() => plot.current?.setData(data), [data]);
  const { from, to } = live.range;
  const drawn = JSON.stringify([live.hatched, live.marks, live.now]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the scale asks for its range itself, `drawn` stands for hatching and marks
  useEffect(() => {
    plot.current?.setScale("x", { min: from, max: to });
    plot.current?.redraw(false);
  }, [from, to, drawn]);
  return <div ref={box} role="img" aria-label={label} className="fl-plot" style={{ minHeight: height }} />;
}
