import type { TFunction } from "i18next";
import { StateBadge } from "../../ui/StateBadge";
import type { Column } from "../../ui/table/DataTable";
import { Why } from "../../ui/Why";
import { TenantName } from "./links";
import { RateBar } from "./RateBar";
import { certain, gain, type PredictedShare, relativeGain, type ShareRow } from "./shares";
import type { Figures, Scale } from "./useFigures";

/** What columns are made with: texts, figures, the unit of the rates, and the rate at the end of each bar in bit/s. */
export type Making = {
  t: TFunction<"parts">;
  figures: Figures;
  scale: Scale;
  max: number;
  weight: (n: number | undefined) => string | undefined;
};

/** Tenant, weight and entitlement. */
export function nameColumns({ t, scale, weight: text }: Making): Column<ShareRow>[] {
  const weight = (r: ShareRow) => (r.after ?? r.before)?.weight;
  return [
    { id: "tenant", header: t("tenant"), value: (r) => r.tenant, cell: (r) => <TenantName name={r.tenant} /> },
    {
      id: "weight",
      header: t("weight"),
      align: "end",
      value: weight,
      cell: (r) =>
        r.before && r.after && r.before.weight !== r.after.weight
          ? t("from-to", { before: text(r.before.weight), after: text(r.after.weight) })
          : text(weight(r)),
    },
    {
      id: "entitled",
      header: t("entitled"),
      unit: scale.unit,
      align: "end",
      value: (r) => scale.value(r.after?.entitled_bps),
      cell: (r) => (r.after ? scale.text(r.after.entitled_bps) : undefined),
      missing: t("not-in-plan"),
    },
  ];
}

/** A predicted rate with its error bound, which says on demand what it rests on. */
export function predictedColumn(
  m: Making,
  id: string,
  header: string,
  of: (r: ShareRow) => PredictedShare | undefined,
): Column<ShareRow> {
  const { t, scale } = m;
  return {
    id,
    header,
    unit: scale.unit,
    align: "end",
    value: (r) => scale.value(of(r)?.predicted_bps),
    missing: t("not-in-plan"),
    cell: (r) => {
      const s = of(r);
      return s ? (
        <Why reasoning={reasoningOf(m, s)}>
          <span className="fl-numeric">
            {t("with-bound", { rate: scale.text(s.predicted_bps), bound: scale.text(s.predicted_bps * s.bound) })}
          </span>
        </Why>
      ) : undefined;
    },
  };
}

function reasoningOf({ t, figures: f }: Making, s: PredictedShare) {
  return {
    of: t("predicted-of", { tenant: s.tenant }),
    value: t("with-bound", { rate: f.rate(s.predicted_bps), bound: f.rate(s.predicted_bps * s.bound) }),
    sentence: t("predicted-why"),
    inputs: [
      { name: t("weight"), value: f.number(s.weight) },
      ...(s.qps === undefined ? [] : [{ name: t("qps"), value: f.number(s.qps) }]),
      { name: t("entitled"), value: f.rate(s.entitled_bps) },
      ...(s.predicted_error === undefined ? [] : [{ name: t("predicted-error"), value: f.share(s.predicted_error) }]),
      { name: t("bound"), value: t("plus-minus", { value: f.share(s.bound) }) },
    ],
  };
}

/** What changes: the rate, its part of the rate before, and whether it exceeds the error bounds. */
export function changeColumns({ t, figures: f, scale }: Making): Column<ShareRow>[] {
  return [
    {
      id: "change",
      header: t("change"),
      unit: scale.unit,
      align: "end",
      value: (r) => scale.value(gain(r)),
      cell: (r) => <span className="fl-numeric">{scale.signed(gain(r))}</span>,
    },
    {
      id: "relative",
      header: t("change"),
      unit: "%",
      align: "end",
      value: (r) => {
        const part = relativeGain(r);
        return part === undefined ? undefined : Math.round(part * 1e4) / 100;
      },
      missing: t("new-tenant"),
      cell: (r) => {
        const part = relativeGain(r);
        return part === undefined ? undefined : <span className="fl-numeric">{f.signedPercent(part)}</span>;
      },
    },
    {
      id: "effect",
      header: t("effect"),
      value: (r) => t(`effect.${effectOf(r)}`),
      cell: (r) => <Effect row={r} t={t} />,
    },
  ];
}

/** Simulated shares: the rate, its distance from the entitlement, and whether it is within the error bound of the prediction. */
export function simulatedColumns({ t, figures: f, scale }: Making): Column<ShareRow>[] {
  const missing = t("not-simulated");
  const within = (r: ShareRow) => r.simulated && t(r.simulated.within_bound ? "within-yes" : "within-no");
  return [
    {
      id: "simulated",
      header: t("simulated"),
      unit: scale.unit,
      align: "end",
      missing,
      value: (r) => scale.value(r.simulated?.delivered_bps),
      cell: (r) => r.simulated && <span className="fl-numeric">{scale.text(r.simulated.delivered_bps)}</span>,
    },
    {
      id: "simulated-error",
      header: t("simulated-error"),
      unit: "%",
      align: "end",
      missing,
      value: (r) => r.simulated && Math.round(r.simulated.share_error * 1e4) / 100,
      cell: (r) => r.simulated && <span className="fl-numeric">{f.percent(r.simulated.share_error)}</span>,
    },
    {
      id: "within",
      header: t("within-bound"),
      missing,
      value: within,
      cell: (r) =>
        r.simulated && <StateBadge tone={r.simulated.within_bound ? "good" : "warn"}>{within(r)}</StateBadge>,
    },
  ];
}

/** Whether a tenant gains or loses; a change within the error bounds is neither. */
export function effectOf(r: ShareRow): "new" | "removed" | "gains" | "loses" | "same" {
  if (!r.before) return "new";
  if (!r.after) return "removed";
  if (!certain(r)) return "same";
  return gain(r) > 0 ? "gains" : "loses";
}

const icons = { new: "plus", removed: "cross", gains: "up", loses: "down", same: "dash" } as const;

function Effect({ row, t }: { row: ShareRow; t: Making["t"] }) {
  const effect = effectOf(row);
  return (
    <StateBadge
      tone={effect === "loses" || effect === "removed" ? "warn" : effect === "same" ? "neutral" : "info"}
      icon={icons[effect]}
    >
      {t(`effect.${effect}`)}
    </StateBadge>
  );
}

/** The rates as bars on one scale. */
export const barColumn = ({ t, max }: Making): Column<ShareRow> => ({
  id: "bar",
  header: t("bar-header"),
  width: 6,
  cell: (r) => <RateBar {...r} max={max} />,
});
