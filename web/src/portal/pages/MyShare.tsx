import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { keys } from "../../api/keys";
import { range } from "../../api/prom";
import { useFormat } from "../../format/useFormat";
import { Page } from "../../ui/Page";
import { measuredLook, StateBadge } from "../../ui/StateBadge";
import { Partial, QueryView } from "../../ui/states";
import { When } from "../../ui/When";
import { OwnChart } from "../OwnChart";
import { ownSeries, selector } from "../series";
import { apiOf, every, type Now, titleOf, useNowFigures, useTenant, useTenantName } from "../tenant";
import { causeOf, receivedOf, rose } from "./share/cause";
import { Figures } from "./share/Figures";

function useLastHour() {
  const m = useTenantName();
  return useQuery({
    queryKey: keys.series("hour", m.fabric, m.tenant),
    queryFn: async ({ signal }) => {
      const to = Math.floor(Date.now() / 1000);
      const from = to - 3600;
      const [series, bad] = await Promise.all([
        ownSeries(m, { from, to }, 15, signal),
        range(selector("fairlane_tenant_share_bad_seconds_total", m), from, to, 15, signal),
      ]);
      return { series, badRose: rose(bad[0]?.values ?? []) };
    },
    refetchInterval: every,
  });
}

export default function MyShare() {
  const { t } = useTranslation(["share", "shell", "common"]);
  const m = useTenantName();
  const now = useNowFigures();
  const hour = useLastHour();
  const figures = now.data;
  return (
    <Page
      title={titleOf(m, t("shell:nav.share"))}
      badges={figures ? <MeasuredBadge now={figures} /> : null}
      answer={figures ? <Cause now={figures} badRose={hour.data?.badRose} /> : null}
      copy={{
        command: `fairlane series query 'fairlane_tenant_delivered_bits_per_second{tenant="${m.tenant}"}' --since 1h --fabric ${m.fabric}`,
        api: `GET ${apiOf(m)}/now`,
      }}
      ready={figures !== undefined && !hour.isPending}
    >
      <QueryView query={now}>
        {(n) => (
          <>
            {n.series === "partial" ? <Partial>{t("series-partial")}</Partial> : null}
            <Figures now={n} />
            <p>
              {n.measured_at ? (
                <>
                  {t("measured")}
                  <When at={n.measured_at} />
                </>
              ) : (
                t("measured-never")
              )}
            </p>
          </>
        )}
      </QueryView>
      <QueryView query={hour}>
        {({ series }) => (
          <OwnChart title={t("last-hour")} series={series} moving height={200} csvName={`fairlane-${m.tenant}-hour`} />
        )}
      </QueryView>
    </Page>
  );
}

function MeasuredBadge({ now }: { now: Now }) {
  const { t } = useTranslation("common");
  const state = now.state ?? "not-measured";
  const look = measuredLook(state);
  return (
    <StateBadge tone={look.tone} icon={look.icon}>
      {t(`measured.${state}`, { defaultValue: state })}
    </StateBadge>
  );
}

/** One sentence: why the tenant receives what it receives. */
function Cause({ now, badRose }: { now: Now; badRose?: boolean }) {
  const { t } = useTranslation(["share", "common"]);
  const format = useFormat();
  const tenant = useTenant().data?.body;
  const cause = causeOf(now, badRose);
  const missing = t("common:not-measured");
  return (
    <span data-cause={cause}>
      {t(`cause.${cause}`, {
        delivered: format.rate(now.delivered_bps) ?? missing,
        entitled: format.rate(now.entitled_bps) ?? missing,
        received: format.share(receivedOf(now)) ?? missing,
        bound: format.share(now.objective.bound) ?? "",
        cap: format.rate(tenant?.cap_bps || undefined) ?? missing,
      })}
    </span>
  );
}
