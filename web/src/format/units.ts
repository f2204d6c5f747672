import type { Language } from "../i18n";
import { locale } from "./time";

const steps = [
  { unit: "Tbit/s", divisor: 1e12 },
  { unit: "Gbit/s", divisor: 1e9 },
  { unit: "Mbit/s", divisor: 1e6 },
  { unit: "kbit/s", divisor: 1e3 },
  { unit: "bit/s", divisor: 1 },
] as const;

/** A unit for all rates of a column or chart: `divisor` bit/s are one `unit`. */
export type RateScale = { unit: string; divisor: number; format: (bps: number | undefined) => string | undefined };

const measured = (n: number | null | undefined): n is number => typeof n === "number" && Number.isFinite(n);
const number = (n: number, language: Language, options: Intl.NumberFormatOptions) =>
  new Intl.NumberFormat(locale(language), options).format(n);

/** A rate in bit/s with three significant digits and a decimal unit, "12.5 Gbit/s"; undefined where nothing was measured. */
export function rate(bps: number | null | undefined, language: Language): string | undefined {
  if (!measured(bps)) return undefined;
  const size = Math.abs(bps);
  const { unit, divisor } = steps.find((s) => size >= s.divisor * 0.9995) ?? { unit: "Gbit/s", divisor: 1e9 };
  return `${number(bps / divisor, language, { maximumSignificantDigits: 3 })} ${unit}`;
}

/** The unit of the largest of some rates, with as many decimals as three digits of it need. */
export function rateScale(values: (number | null | undefined)[], language: Language): RateScale {
  const largest = values.reduce<number>((most, v) => (measured(v) ? Math.max(most, Math.abs(v)) : most), 0);
  const { unit, divisor } = steps.find((s) => largest >= s.divisor) ?? { unit: "Gbit/s", divisor: 1e9 };
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.max(1, largest / divisor))));
  return {
    unit,
    divisor,
    format: (bps) =>
      measured(bps)
        ? number(bps / divisor, language, { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
        : undefined,
  };
}

/** A fraction in percent with one decimal, without the sign: for columns whose header has the unit. */
export function percent(fraction: number | null | undefined, language: Language): string | undefined {
  return measured(fraction)
    ? number(fraction * 100, language, { minimumFractionDigits: 1, maximumFractionDigits: 1 })
    : undefined;
}

/** A fraction as a percentage with one decimal, "12.3 %". */
export function share(fraction: number | null | undefined, language: Language): string | undefined {
  const text = percent(fraction, language);
  return text && `${text} %`;
}

/** Like percent, with the sign of the change: "+1.0", "−0.5". */
export function signedPercent(fraction: number | null | undefined, language: Language): string | undefined {
  if (!measured(fraction)) return undefined;
  const options = { minimumFractionDigits: 1, maximumFractionDigits: 1, signDisplay: "exceptZero" } as const;
  return number(fraction * 100, language, options).replace("-", "−");
}

/** Like signedPercent, with the unit: "+1.0 %", "−0.5 %". */
export function signedShare(fraction: number | null | undefined, language: Language): string | undefined {
  const text = signedPercent(fraction, language);
  return text && `${text} %`;
}

/** A count with grouped digits. */
export function count(n: number | null | undefined, language: Language): string | undefined {
  return measured(n) ? number(n, language, {}) : undefined;
}

/** A rate without loss, in the largest unit that it reaches: "40.404 Gbit/s". For what a person declared, not for measurements. */
export function exactRate(bps: number | null | undefined, language: Language): string | undefined {
  if (!measured(bps)) return undefined;
  const { unit, divisor } = steps.find((s) => Math.abs(bps) >= s.divisor) ?? { unit: "bit/s", divisor: 1 };
  return `${number(bps / divisor, language, { maximumFractionDigits: 12 })} ${unit}`;
}

/** The weights of a column: all with as many decimals as the one with the most has, at most three. */
export function weightScale(values: (number | null | undefined)[], language: Language) {
  const decimals = [0, 1, 2].find((d) => values.every((v) => !measured(v) || isRound(v, d))) ?? 3;
  return (n: number | null | undefined) => fixed(n, decimals, language);
}

const isRound = (v: number, decimals: number) => Math.abs(v * 10 ** decimals - Math.round(v * 10 ** decimals)) < 1e-6;

/** A number with a fixed number of decimals, for a column of such numbers. */
export function fixed(n: number | null | undefined, decimals: number, language: Language): string | undefined {
  return measured(n)
    ? number(n, language, { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
    : undefined;
}

/** A weight: as many decimals as it has, at most three. */
export function weight(n: number | null | undefined, language: Language): string | undefined {
  return measured(n) ? number(n, language, { maximumFractionDigits: 3 }) : undefined;
}

const spans = [
  { seconds: 86_400, en: "d", zh: "天" },
  { seconds: 3_600, en: "h", zh: "小时" },
  { seconds: 60, en: "min", zh: "分" },
  { seconds: 1, en: "s", zh: "秒" },
] as const;

/** A duration in seconds by its two largest units, "3 min 20 s"; below a second in ms. */
export function duration(seconds: number | null | undefined, language: Language): string | undefined {
  if (!measured(seconds)) return undefined;
  const size = Math.abs(seconds);
  if (size > 0 && size < 1)
    return `${number(size * 1000, language, { maximumSignificantDigits: 3 })} ${language === "zh" ? "毫秒" : "ms"}`;
  let left = Math.round(size);
  const parts: string[] = [];
  for (const span of spans) {
    const n = Math.floor(left / span.seconds);
    left -= n * span.seconds;
    if (n > 0) parts.push(`${n} ${span[language]}`);
    else if (parts.length) break; // "1 d 5 s" would suggest more precision than a duration of days needs
    if (parts.length === 2) break;
  }
  return parts.join(" ") || `0 ${spans[3][language]}`;
}
