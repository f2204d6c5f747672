import "./shareBar.css";
import { useTranslation } from "react-i18next";

type ShareBarProps = {
  /** Whose share it is: the tenant, and the link where there are several. */
  label: string;
  /** Desired, predicted with the applied settings, and measured: in the same unit. Undefined is "not measured". */
  entitled?: number;
  predicted?: number;
  delivered?: number;
  /** Error bound of the prediction, to each side. */
  bound?: number;
  /** End of the scale; the largest value when left out. Give the same end to all bars of a list. */
  max?: number;
  /** A value in words with its unit. */
  format: (value: number) => string;
  /** One line of a table: a bar with marks, without words beside it. */
  compact?: boolean;
};

/** Entitled, predicted and delivered beside each other on one scale that starts at zero. */
export function ShareBar(p: ShareBarProps) {
  const { t } = useTranslation("ui");
  const end =
    p.max ??
    Math.max(
      ...[p.entitled, p.predicted === undefined ? undefined : p.predicted + (p.bound ?? 0), p.delivered].flatMap(
        (v) => v ?? [],
      ),
      0,
    );
  const part = (value: number) => (end > 0 ? Math.min(100, Math.max(0, (value / end) * 100)) : 0);
  const words = (value: number | undefined) => (value === undefined ? t("not-measured") : p.format(value));
  const line = t("share.line", {
    label: p.label,
    entitled: words(p.entitled),
    predicted: words(p.predicted),
    delivered: words(p.delivered),
  });
  if (p.compact) return <CompactBar {...p} part={part} line={line} />;
  const rows = [
    { kind: "entitled", word: t("share.entitled"), value: p.entitled },
    { kind: "predicted", word: t("share.predicted"), value: p.predicted },
    { kind: "delivered", word: t("share.delivered"), value: p.delivered },
  ];
  return (
    <dl className="fl-share" aria-label={p.label}>
      {rows.map((r) => (
        <div key={r.kind} className="fl-share-row">
          <dt>{r.word}</dt>
          <dd>
            <span className="fl-share-track" aria-hidden="true">
              {r.value === undefined ? null : (
                <span className="fl-share-fill" data-kind={r.kind} style={{ width: `${part(r.value)}%` }} />
              )}
              {r.kind === "predicted" && r.value !== undefined && p.bound ? (
                <span
                  className="fl-share-bound"
                  style={{
                    left: `${part(r.value - p.bound)}%`,
                    width: `${part(r.value + p.bound) - part(r.value - p.bound)}%`,
                  }}
                />
              ) : null}
            </span>
            <span className={r.value === undefined ? "fl-missing" : "fl-share-value"}>
              {r.kind === "predicted" && r.value !== undefined && p.bound
                ? t("share.bound", { value: words(r.value), bound: p.format(p.bound) })
                : words(r.value)}
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

type CompactBarProps = ShareBarProps & { part: (value: number) => number; line: string };

/** The bar is what was delivered, the line across what the tenant is entitled to, the diamond the prediction. */
function CompactBar({ entitled, predicted, delivered, part, line }: CompactBarProps) {
  const x = (value: number) => 4 + part(value) * 1.12;
  return (
    <svg width="120" height="18" viewBox="0 0 120 18" role="img" aria-label={line} className="fl-share-compact">
      <title>{line}</title>
      <path d="M4 9H116" stroke="var(--fl-grid)" />
      {delivered === undefined ? (
        <path d="M4 9H116" stroke="var(--fl-ink-soft)" strokeDasharray="1 4" />
      ) : (
        <rect x="4" y="5" width={x(delivered) - 4} height="8" fill="var(--fl-series-1)" />
      )}
      {entitled === undefined ? null : <path d={`M${x(entitled)} 1V17`} stroke="var(--fl-ink)" strokeWidth="2" />}
      {predicted === undefined ? null : (
        <path
          d="M0 -4L4 0L0 4L-4 0z"
          transform={`translate(${x(predicted)} 9)`}
          fill="var(--fl-ground)"
          stroke="var(--fl-ink)"
          strokeWidth="1.4"
        />
      )}
    </svg>
  );
}
