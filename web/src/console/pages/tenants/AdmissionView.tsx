import { Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useFormat } from "../../../format/useFormat";
import { StateBadge, type Tone } from "../../../ui/StateBadge";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { Findings } from "../../parts/Findings";

type Admission = Schemas["Admission"];
type Rate = Schemas["AdmissionRate"];
type Share = Schemas["AdmissionShare"];

const tones: Record<Admission["verdict"], Tone> = { yes: "good", reservations: "warn", no: "bad" };

/** Whether the fabric can admit the tenant, in words, with every tenant's rate before and after. */
export function AdmissionView({ admission: a }: { admission: Admission }) {
  const { t } = useTranslation("tenants");
  const f = useFormat();
  const own = a.tenants.find((s) => s.tenant === a.tenant)?.after;
  const broken = a.guarantees.filter((g) => g.status === "broken");
  const losers = a.tenants.filter((s) => loses(s)).length;
  return (
    <Stack gap="sm" data-verdict={a.verdict} role="group" aria-label={t("preview-of", { tenant: a.tenant })}>
      <Text role="status">
        <StateBadge tone={tones[a.verdict]}>{t(`admit.${a.verdict}`)}</StateBadge>{" "}
        {t(`admit-why.${a.verdict}`, {
          tenant: a.tenant,
          rate: f.rate(own?.predicted_bps) ?? t("no-traffic"),
          bound: f.share(own?.bound) ?? "",
          findings: a.appeared.length,
          broken: broken.length,
          losers,
        })}
      </Text>
      {broken.map((g) => (
        <Text key={g.tenant} size="sm" className="fl-name">
          {t("admit-broken", {
            tenant: g.tenant,
            guarantee: f.rate(g.guarantee_bps) ?? "",
            booked: f.rate(g.booked_bps) ?? "",
            bookable: f.rate(g.bookable_bps) ?? "",
            link: g.links.names[0] ?? "",
          })}
        </Text>
      ))}
      <Text size="sm">
        {t("admit-devices", { ports: a.devices.ports, switches: a.devices.switches })}{" "}
        {a.fits.guarantee_bps > 0
          ? t("admit-fits", { rate: f.rate(a.fits.guarantee_bps) ?? "", link: a.fits.link ?? "" })
          : t("admit-fits-none")}
      </Text>
      <AdmissionTable shares={a.tenants} />
      {a.appeared.length > 0 ? <Findings items={a.appeared} quiet /> : null}
    </Stack>
  );
}

/** Whether a tenant is predicted to lose more than the predictions are uncertain about. */
function loses({ before, after }: Share): boolean {
  if (!before || !after) return false;
  const doubt = Math.max(before.predicted_bps * before.bound, after.predicted_bps * after.bound);
  return before.predicted_bps - after.predicted_bps > doubt;
}

function AdmissionTable({ shares }: { shares: Share[] }) {
  const { t } = useTranslation(["tenants", "common"]);
  const f = useFormat();
  const columns = useMemo<Column<Share>[]>(() => {
    const scale = f.rateScale(shares.flatMap((s) => [s.before?.predicted_bps, s.after?.predicted_bps]));
    const rate = (id: string, header: string, of: (s: Share) => Rate | undefined): Column<Share> => ({
      id,
      header,
      unit: scale.unit,
      align: "end",
      value: (s) => {
        const r = of(s);
        return r ? r.predicted_bps / scale.divisor : undefined;
      },
      cell: (s) => {
        const r = of(s);
        return r
          ? t("with-bound", {
              rate: scale.format(r.predicted_bps) ?? "",
              bound: scale.format(r.predicted_bps * r.bound) ?? "",
            })
          : undefined;
      },
      missing: t("not-there"),
    });
    return [
      { id: "tenant", header: t("common:tenant"), value: (s) => s.tenant },
      {
        id: "weight",
        header: t("common:weight"),
        align: "end",
        value: (s) => s.weight,
        cell: (s) => f.weight(s.weight),
      },
      rate("before", t("predicted-before"), (s) => s.before),
      rate("after", t("predicted-after"), (s) => s.after),
      {
        id: "change",
        header: t("change"),
        unit: "%",
        align: "end",
        value: (s) => change(s),
        cell: (s) => f.signedShare(change(s))?.replace(/\s*%$/, ""),
        missing: t("new"),
      },
    ];
  }, [shares, f, t]);
  return (
    <DataTable
      caption={t("shares-before-after")}
      rows={shares}
      columns={columns}
      rowId={(s) => s.tenant}
      filterLabel={shares.length > 12 ? undefined : ""}
      maxHeight="20rem"
    />
  );
}

const change = ({ before, after }: Share): number | undefined =>
  before && after && before.predicted_bps > 0 ? after.predicted_bps / before.predicted_bps - 1 : undefined;
