import { useMemo } from "react";
import { useFormat } from "../../format/useFormat";
import { useLanguage } from "../../i18n";

/** One unit for several rates, so that they can be compared. */
export type Scale = {
  unit: string;
  /** The rate in the unit, rounded to what is shown. */
  value: (bps: number | undefined) => number | undefined;
  text: (bps: number) => string;
};

const units: [least: number, unit: string][] = [
  [1e12, "Tbit/s"],
  [1e9, "Gbit/s"],
  [1e6, "Mbit/s"],
  [1e3, "kbit/s"],
  [0, "bit/s"],
];

/** The unit for rates in bit/s, by the largest of them. */
export function unitOf(rates: number[]): [size: number, unit: string] {
  const max = Math.max(0, ...rates.map(Math.abs));
  const [least = 1e9, unit = "Gbit/s"] = units.find(([n]) => max >= n && max > 0) ?? [1e9, "Gbit/s"];
  return [least || 1, unit];
}

/** Figures of plans in the reader's language: rates on one scale, shares in %, plain and signed numbers. */
export function useFigures() {
  const { rate } = useFormat();
  const language = useLanguage();
  return useMemo(() => {
    const plain = new Intl.NumberFormat(language, { maximumFractionDigits: 3 });
    const percent = new Intl.NumberFormat(language, {
      style: "percent",
      minimumFractionDigits: 1,
      maximumFractionDigits: 1,
    });
    const signedPercent = new Intl.NumberFormat(language, {
      style: "percent",
      minimumFractionDigits: 1,
      maximumFractionDigits: 1,
      signDisplay: "exceptZero",
    });
    const scale = (rates: number[], signed = false): Scale => {
      const [size, unit] = unitOf(rates);
      const digits = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
      const format = new Intl.NumberFormat(language, signed ? { ...digits, signDisplay: "exceptZero" } : digits);
      return {
        unit,
        value: (bps) => (bps === undefined ? undefined : Math.round((bps / size) * 1e4) / 1e4),
        text: (bps) => format.format(bps / size),
      };
    };
    return {
      rate: (bps: number) => rate(bps) ?? "",
      number: (n: number) => plain.format(n),
      share: (part: number) => percent.format(part),
      signedShare: (part: number) => signedPercent.format(part),
      scale,
    };
  }, [rate, language]);
}

export type Figures = ReturnType<typeof useFigures>;
