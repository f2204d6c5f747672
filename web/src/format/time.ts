import type { Language } from "../i18n";

const locale = (language: Language) => (language === "zh" ? "zh-CN" : "en-GB");

/** A date as text, number of milliseconds, or Date. */
export type Moment = string | number | Date;

const formats = new Map<string, Intl.DateTimeFormat>();

function dates(language: Language, name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${language} ${name}`;
  let f = formats.get(key);
  if (!f) {
    f = new Intl.DateTimeFormat(locale(language), { hourCycle: "h23", ...options });
    formats.set(key, f);
  }
  return f;
}

/** Date and time in the browser's zone, with the zone. */
export function absolute(at: Moment, language: Language): string {
  return dates(language, "absolute", {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  }).format(new Date(at));
}

/** Hours, minutes and seconds in the browser's zone. */
export function clock(at: Moment, language: Language): string {
  return dates(language, "clock", { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(new Date(at));
}

/** The date alone, in the browser's zone. */
export function day(at: Moment, language: Language): string {
  return dates(language, "day", { year: "numeric", month: "short", day: "numeric" }).format(new Date(at));
}

/** RFC 3339 in UTC, for exports. */
export function iso(at: Moment): string {
  return new Date(at).toISOString();
}

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** How long ago a moment was, or how soon it comes, in its largest unit: "3 min ago". */
export function ago(at: Moment, now: number, language: Language): string {
  const seconds = Math.round((new Date(at).getTime() - now) / 1000);
  const [unit, size] = units.find(([, s]) => Math.abs(seconds) >= s) ?? ["second", 1];
  return new Intl.RelativeTimeFormat(locale(language), { numeric: "always", style: "short" }).format(
    Math.trunc(seconds / size) || -0, // the present is "0 sec ago", not "in 0 sec"
    unit,
  );
}
