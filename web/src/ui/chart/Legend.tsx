import { useTranslation } from "react-i18next";
import { moment } from "./dates";
import { markerPaths } from "./marker";
import { gap, type Look, latest, lookOf } from "./series";
import type { ChartBand, ChartSeries, TimeRange } from "./types";

type LegendProps = {
  title: string;
  unit: string;
  times: number[];
  series: ChartSeries[];
  bands: ChartBand[];
  hidden: ReadonlySet<number>;
  onToggle: (place: number) => void;
  range: TimeRange;
  /** The index under the crosshair; the latest value stands when there is none. */
  at?: number;
  format: (value: number) => string;
};

/** The lines by sample, name and value; a button turns its line off and on. */
export function Legend(p: LegendProps) {
  const { t, i18n } = useTranslation("ui");
  const index = p.at ?? latest(p.times, p.series, p.range);
  const time = p.times[index];
  const value = (values: (number | null)[]) => {
    const v = gap(values[index]);
    return v === null ? t("not-measured") : p.format(v);
  };
  const when =
    time === undefined
      ? t("chart.no-values")
      : t(p.at === undefined ? "chart.latest" : "chart.at", { time: moment(time, i18n.language) });
  const band = (b: ChartBand) => t("share.bounds", { low: value(b.lower), high: value(b.upper) });
  return (
    <fieldset className="fl-legend" aria-label={t("chart.legend", { title: p.title })}>
      {p.series.map((s, i) => (
        <LegendButton
          // biome-ignore lint/suspicious/noArrayIndexKey: labels may repeat, the place is what the state refers to
          key={i}
          on={!p.hidden.has(i)}
          toggle={() => p.onToggle(i)}
          label={s.label}
          value={time === undefined ? "" : value(s.values)}
          sample={<LineSample look={lookOf(s, i)} />}
        />
      ))}
      {p.bands.map((b, i) => (
        <LegendButton
          key={b.label}
          on={!p.hidden.has(p.series.length + i)}
          toggle={() => p.onToggle(p.series.length + i)}
          label={b.label}
          value={time === undefined ? "" : band(b)}
          sample={<BandSample />}
        />
      ))}
      <span className="fl-legend-time">{when}</span>
    </fieldset>
  );
}

type LegendButtonProps = { on: boolean; toggle: () => void; label: string; value: string; sample: React.ReactNode };

function LegendButton({ on, toggle, label, value, sample }: LegendButtonProps) {
  return (
    <button type="button" aria-pressed={on} onClick={toggle} className="fl-legend-entry">
      {sample}
      <span className="fl-legend-label">{label}</span>
      <span className="fl-legend-value">{value}</span>
    </button>
  );
}

function LineSample({ look }: { look: Look }) {
  const { d, fill } = markerPaths[look.marker];
  const colour = `var(--fl-series-${look.colour})`;
  return (
    <svg width="36" height="12" viewBox="0 0 36 12" aria-hidden="true" style={{ color: colour }}>
      <path
        d="M0 6H36"
        stroke="currentColor"
        strokeWidth={look.width}
        strokeDasharray={look.dash.join(" ") || undefined}
      />
      <path
        d={d}
        transform="translate(18 6)"
        stroke="currentColor"
        strokeWidth="1.8"
        fill={fill ? "currentColor" : "var(--fl-ground)"}
      />
    </svg>
  );
}

function BandSample() {
  return (
    <svg width="36" height="12" viewBox="0 0 36 12" aria-hidden="true">
      <rect width="36" height="12" fill="var(--fl-band)" />
      <path d="M0 .5H36M0 11.5H36" stroke="var(--fl-hatch)" strokeDasharray="2 3" />
    </svg>
  );
}
