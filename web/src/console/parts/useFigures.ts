import { useMemo } from "react";
import { useFormat } from "../../format/useFormat";

/** One unit for several rates, so that they can be compared. */
export type Scale = {
  unit: string;
  /** The rate in the unit, to four decimals: what a table sorts and exports by. */
  value: (bps: number | undefined) => number | undefined;
  text: (bps: number) => string;
  /** With its sign: "+1.2", "−0.4". */
  signed: (bps: number) => string;
};

/** Figures of plans in the reader's language, for values that are never missing. */
export function useFigures() {
  const f = useFormat();
  return useMemo(
    () => ({
      rate: (bps: number) => f.rate(bps) ?? "",
      number: (n: number) => f.weight(n) ?? "",
      share: (part: number) => f.share(part) ?? "",
      percent: (part: number) => f.percent(part) ?? "",
      signedPercent: (part: number) => f.signedPercent(part) ?? "",
      weightScale: f.weightScale,
      signedShare: (part: number) => f.signedShare(part) ?? "",
      scale: (rates: number[]): Scale => {
        const { unit, divisor, format } = f.rateScale(rates);
        const text = (bps: number) => format(bps) ?? "";
        return {
          unit,
          value: (bps) => (bps === undefined ? undefined : Math.round((bps / divisor) * 1e4) / 1e4),
          text,
          signed: (bps) => `${bps > 0 ? "+" : bps < 0 ? "−" : ""}${text(Math.abs(bps))}`,
        };
      },
    }),
    [f],
  );
}

export type Figures = ReturnType<typeof useFigures>;
