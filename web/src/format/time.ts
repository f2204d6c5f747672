/** The locale of numbers and dates in a language of the pages. */
export const locale = (language: string) => (language === "zh" ? "zh-CN" : "en-GB");

/** A date as text, number of milliseconds, or Date. */
export type Moment = string | number | Date;

const formats = new Map<string, Intl.DateTimeFormat>();

/** A format of dates in the browser's zone. It is kept, since making one takes longer than using it. */
export function dateFormat(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([language, options]);
  let f = formats.get(key);
  if (!f) {
    f = new Intl.DateTimeFormat(locale(language), { hourCycle: "h23", ...options });
    formats.set(key, f);
  }
  return f;
}

/** Date and time in the browser's zone, with the zone. */
export function absolute(at: Moment, language: string): string {
  return dateFormat(language, {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  }).format(new Date(at));
}

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** How long ago a moment was, or how soon it comes, in its largest unit: "3 min ago". */
export function ago(at: Moment, now: number, language: string): string {
  const seconds = Math.round((new Date(at).getTime() - now) / 1000);
  const [unit, size] = units.find(([, s]) => Math.abs(seconds) >= s) ?? ["second", 1];
  return new Intl.RelativeTimeFormat(locale(language), { numeric: "always", style: "short" }).format(
    Math.trunc(seconds / size) || -0, // the present is "0 sec ago", not "in 0 sec"
    unit,
  );
}
