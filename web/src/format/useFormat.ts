import { useMemo } from "react";
import { useLanguage } from "../i18n";
import * as time from "./time";
import * as units from "./units";

/** The formats of numbers and times in the reader's language. Each gives undefined for what was not measured. */
export function useFormat() {
  const language = useLanguage();
  return useMemo(() => {
    const l = language;
    type N = number | null | undefined;
    return {
      rate: (bps: N) => units.rate(bps, l),
      rateScale: (values: N[]) => units.rateScale(values, l),
      percent: (fraction: N) => units.percent(fraction, l),
      share: (fraction: N) => units.share(fraction, l),
      signedShare: (fraction: N) => units.signedShare(fraction, l),
      signedPercent: (fraction: N) => units.signedPercent(fraction, l),
      exactRate: (bps: N) => units.exactRate(bps, l),
      fixed: (n: N, decimals: number) => units.fixed(n, decimals, l),
      weightScale: (values: N[]) => units.weightScale(values, l),
      count: (n: N) => units.count(n, l),
      weight: (n: N) => units.weight(n, l),
      duration: (seconds: N) => units.duration(seconds, l),
      list: (items: string[]) => new Intl.ListFormat(time.locale(l)).format(items),
      absolute: (at: time.Moment) => time.absolute(at, l),
      ago: (at: time.Moment, now: number) => time.ago(at, now, l),
    };
  }, [language]);
}
