import { dateFormat } from "../../format/time";

const clock = { hour: "2-digit", minute: "2-digit" } as const;
const day = { month: "short", day: "numeric" } as const;

/** The labels of the time axis: the time of day, and the date below it at the first label and where the day changes. */
export function axisDates(splits: number[], step: number, language: string): string[] {
  const dayOf = dateFormat(language, day);
  if (step >= 86_400) return splits.map((s) => dayOf.format(s * 1000));
  const timeOf = dateFormat(language, step < 60 ? { ...clock, second: "2-digit" } : clock);
  let last = "";
  return splits.map((s) => {
    const date = dayOf.format(s * 1000);
    const time = timeOf.format(s * 1000);
    const text = date === last ? time : `${time}\n${date}`;
    last = date;
    return text;
  });
}

/** A moment for the legend and the list of events: date and time of day with seconds. */
export function moment(at: number, language: string): string {
  return dateFormat(language, { ...day, ...clock, second: "2-digit" }).format(at * 1000);
}

/** A moment for tables and files: ISO 8601 in UTC, whole seconds. */
export function iso(at: number): string {
  return new Date(at * 1000).toISOString().replace(/\.\d+Z$/, "Z");
}

/** The browser's time zone in words and its name: "GMT+8, Asia/Shanghai". */
export function zoneOf(language: string, at = Date.now()): string {
  const made = dateFormat(language, { timeZoneName: "short" });
  const short = made.formatToParts(at).find((p) => p.type === "timeZoneName")?.value ?? "";
  const { timeZone: name } = made.resolvedOptions();
  return short === name ? name : `${short}, ${name}`;
}
