import { Button } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { locale } from "../../format/time";
import { RowLink } from "../table/RowLink";
import { moment, zoneOf } from "./dates";
import type { ChartMark, Hatched, TimeRange } from "./types";

type BelowProps = {
  title: string;
  range: TimeRange;
  hatched: Hatched[];
  marks: ChartMark[];
  gaps: boolean;
  /** Whether the table stands in place of the picture. */
  table: boolean;
  left: number;
  /** The time of the first value, where the picture leaves out the empty time before it. */
  first?: number;
};

/** Events that are listed until the reader asks for all: the latest of them. */
const fewMarks = 5;

/** What a reader needs beside the picture: what hatching and gaps mean, the time zone, and the events as links. */
export function Below({ title, range, hatched, marks, gaps, table, left, first }: BelowProps) {
  const { t, i18n } = useTranslation("ui");
  const seen = marks.map((m, i) => ({ ...m, n: i + 1 })).filter((m) => m.at >= range.from && m.at <= range.to);
  const labels = [...new Set(hatched.filter((h) => h.to >= range.from && h.from <= range.to).map((h) => h.label))];
  return (
    <div className="fl-chart-below">
      {labels.length > 0 ? (
        <span>{t("chart.hatched", { labels: new Intl.ListFormat(locale(i18n.language)).format(labels) })}</span>
      ) : null}
      {gaps && !table ? <span>{t("chart.gap")}</span> : null}
      {first === undefined ? null : <span>{t("chart.from-first", { time: moment(first, i18n.language) })}</span>}
      {left > 0 ? <span>{t("chart.left-out", { count: left })}</span> : null}
      <span>{t("chart.zone", { zone: zoneOf(i18n.language), mode: table ? "none" : "drag" })}</span>
      {seen.length > 0 ? <Marks title={title} seen={seen} /> : null}
    </div>
  );
}

/** The events by their numbers in the picture: the latest, and all of them when opened. */
function Marks({ title, seen }: { title: string; seen: (ChartMark & { n: number })[] }) {
  const { t, i18n } = useTranslation("ui");
  const [all, setAll] = useState(false);
  const more = seen.length - fewMarks;
  return (
    <div className="fl-chart-marks">
      {more > 0 ? (
        <Button size="compact-sm" variant="subtle" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? t("chart.marks-fewer") : t("chart.marks-more", { count: more })}
        </Button>
      ) : null}
      <ol aria-label={t("chart.marks", { title })}>
        {(all ? seen : seen.slice(-fewMarks)).map((m) => (
          <li key={m.n} value={m.n} data-kind={m.kind}>
            <time dateTime={new Date(m.at * 1000).toISOString()}>{moment(m.at, i18n.language)}</time>{" "}
            {m.href ? <RowLink href={m.href}>{m.label}</RowLink> : m.label}
          </li>
        ))}
      </ol>
    </div>
  );
}
