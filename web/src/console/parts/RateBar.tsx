import { useTranslation } from "react-i18next";
import { useFigures } from "./useFigures";

type Rate = { predicted_bps: number; bound: number; entitled_bps: number };

const width = 88;
const height = 22;

/**
 * Predicted rates on one scale from 0 to `max` bit/s: before as a hollow bar above, after as a solid bar below with a whisker of its
 * error bound, and the entitlement after as a tick.
 */
export function RateBar({ tenant, before, after, max }: { tenant: string; before?: Rate; after?: Rate; max: number }) {
  const { t } = useTranslation("parts");
  const { rate } = useFigures();
  const x = (bps: number) => (max > 0 ? Math.min(width - 1, (bps / max) * (width - 1)) : 0);
  const text = t("bar", {
    tenant,
    had: before ? "yes" : "no",
    has: after ? "yes" : "no",
    before: before ? rate(before.predicted_bps) : "",
    after: after ? rate(after.predicted_bps) : "",
    entitled: after ? rate(after.entitled_bps) : "",
  });
  const low = after ? x(after.predicted_bps * (1 - after.bound)) : 0;
  const high = after ? x(after.predicted_bps * (1 + after.bound)) : 0;
  const tick = after ? x(after.entitled_bps) : 0;
  return (
    <svg role="img" aria-label={text} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
      <title>{text}</title>
      <line x1={0.5} x2={0.5} y1={0} y2={height} stroke="var(--fl-grid)" />
      {before ? (
        <rect
          x={1}
          y={2}
          width={Math.max(1, x(before.predicted_bps))}
          height={6}
          fill="none"
          stroke="var(--fl-neutral)"
        />
      ) : null}
      {after ? (
        <>
          <rect
            x={1}
            y={before ? 11 : 6}
            width={Math.max(1, x(after.predicted_bps))}
            height={8}
            fill="var(--fl-series-1)"
          />
          <path
            d={`M${low} ${before ? 15 : 10}H${high}M${low} ${before ? 12 : 7}v6M${high} ${before ? 12 : 7}v6`}
            stroke="var(--fl-ink)"
            fill="none"
          />
          <line
            x1={tick}
            x2={tick}
            y1={before ? 9 : 4}
            y2={before ? 21 : 16}
            stroke="var(--fl-series-2)"
            strokeWidth={2}
          />
        </>
      ) : null}
    </svg>
  );
}
