import { Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useFormat } from "../../../format/useFormat";
import { StateBadge, type Tone } from "../../../ui/StateBadge";
import { Findings } from "../../parts/Findings";
import { SharesTable } from "../../parts/SharesTable";
import { effectOf } from "../../parts/shareColumns";
import { type PredictedShare, shareRows } from "../../parts/shares";

type Admission = Schemas["Admission"];

const tones: Record<Admission["verdict"], Tone> = { yes: "good", reservations: "warn", no: "bad" };

/** Whether the fabric can admit the tenant, in words, with every tenant's rate before and after. */
export function AdmissionView({ admission: a }: { admission: Admission }) {
  const { t } = useTranslation("tenants");
  const f = useFormat();
  const own = a.tenants.find((s) => s.tenant === a.tenant)?.after;
  const broken = a.guarantees.filter((g) => g.status === "broken");
  const before = useMemo(() => sharesOf(a, "before"), [a]);
  const after = useMemo(() => sharesOf(a, "after"), [a]);
  const losers = shareRows(after, before).filter((r) => effectOf(r) === "loses").length;
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
      <SharesTable before={before} after={after} csvName={`admission-${a.tenant}`} />
      {a.appeared.length > 0 ? <Findings items={a.appeared} /> : null}
    </Stack>
  );
}

function sharesOf(a: Admission, side: "before" | "after"): PredictedShare[] {
  return a.tenants.flatMap(({ tenant, weight, [side]: rate }) => (rate ? [{ tenant, weight, ...rate }] : []));
}
