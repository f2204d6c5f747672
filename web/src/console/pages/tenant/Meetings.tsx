import { Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useFormat } from "../../../format/useFormat";
import { LazyTimeChart } from "../../../ui/chart/LazyTimeChart";
import { ShareBar } from "../../../ui/ShareBar";
import { Empty, QueryView } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { percentColumn, rateColumn } from "../../parts/columns";
import { LinkName, Names, TenantName } from "../../parts/links";
import { usePlanInForce } from "../../parts/plans";
import { type Meeting, useLinkHistory, useMeetings } from "./queries";

/** `moving`: whether the range moves with the clock. */
type Range = { from: number; to: number; step: number; moving: boolean };
type Props = {
  fabric: string;
  tenant: string;
  at: number | undefined;
  range: Range;
  /** The link whose detail is open. */
  link: string;
  onLink: (link: string) => void;
};

/** The contended links of the tenant, at the moment of the alert or now; the details of a link show all tenants on it. */
export function Meetings({ fabric, tenant, at, range, link, onLink }: Props) {
  const { t } = useTranslation("tenant");
  const meetings = useMeetings(fabric, tenant, at);
  const columns = useMeetingColumns(meetings.data ?? [], tenant);
  return (
    <QueryView query={meetings}>
      {(list) => (
        <DataTable
          caption={t("meetings")}
          rows={list}
          columns={columns}
          rowId={(m) => m.link}
          filterLabel={list.length > 12 ? undefined : ""}
          count={(shown, total) => t("meetings-count", { shown, total })}
          csvName={`${fabric}-${tenant}-links`}
          open={new Set(link ? [link] : [])}
          onOpen={(open) => onLink([...open].find((l) => l !== link) ?? "")}
          expanded={(m) => <OneLink fabric={fabric} meeting={m} range={range} />}
          empty={<Empty title={t("meetings-none")} why={t("meetings-none-why")} />}
        />
      )}
    </QueryView>
  );
}

function useMeetingColumns(list: Meeting[], tenant: string): Column<Meeting>[] {
  const { t } = useTranslation(["tenant", "common"]);
  const f = useFormat();
  return useMemo(() => {
    const own = (m: Meeting) => m.tenants.find((x) => x.tenant === tenant);
    const scale = f.rateScale(list.flatMap((m) => [own(m)?.entitled, own(m)?.delivered]));
    return [
      { id: "link", header: t("common:link"), value: (m) => m.link, cell: (m) => <LinkName name={m.link} /> },
      percentColumn(f, "use", t("use"), (m) => m.use),
      rateColumn(scale, "entitled", t("entitled-there"), (m) => own(m)?.entitled),
      rateColumn(scale, "delivered", t("delivered-there"), (m) => own(m)?.delivered),
      {
        id: "others",
        header: t("others"),
        value: (m) => m.tenants.length - 1,
        cell: (m) => (
          <Names names={m.tenants.map((x) => x.tenant).filter((x) => x !== tenant)} of={TenantName} most={5} />
        ),
      },
    ];
  }, [list, tenant, f, t]);
}

/** Tenants of a link that have a bar. */
const mostBars = 20;

/** The tenants on a link: what each is entitled to, predicted and delivered there, now and over the range. */
function OneLink({ fabric, meeting: m, range }: { fabric: string; meeting: Meeting; range: Range }) {
  const { t } = useTranslation("tenant");
  const f = useFormat();
  const history = useLinkHistory(fabric, m.link, range.from, range.to, range.step);
  const predicted = usePlanInForce(fabric).plan?.links.find((l) => l.name === m.link)?.tenants;
  const max = m.tenants.reduce((n, x) => Math.max(n, x.entitled ?? 0, x.delivered ?? 0), 0);
  const scale = f.rateScale([m.capacity]);
  return (
    <Stack gap="sm" data-link={m.link}>
      <Text>
        {t("link-sentence", {
          n: m.tenants.length,
          capacity: f.rate(m.capacity) ?? t("unknown"),
          use: f.share(m.use) ?? t("unknown"),
        })}
      </Text>
      <Stack gap={4}>
        {m.tenants.slice(0, mostBars).map((x) => (
          <div key={x.tenant}>
            <TenantName name={x.tenant} />
            <ShareBar
              label={t("on-link", { tenant: x.tenant, link: m.link })}
              entitled={x.entitled}
              delivered={x.delivered}
              {...predictedOf(predicted?.find((y) => y.tenant === x.tenant))}
              max={max}
              format={(v) => f.rate(v) ?? ""}
            />
          </div>
        ))}
        {m.tenants.length > mostBars ? (
          <Text size="sm">{t("link-more", { n: m.tenants.length - mostBars })}</Text>
        ) : null}
      </Stack>
      {history.data?.length ? (
        <LazyTimeChart
          title={t("link-chart", { link: m.link })}
          summary={t("link-chart-summary", { n: history.data.length })}
          unit={scale.unit}
          times={history.data[0]?.times ?? []}
          series={history.data.map((s) => ({
            label: s.labels.tenant ?? "",
            kind: "line",
            values: s.values.map((v) => (v === null ? null : v / scale.divisor)),
          }))}
          range={{ from: range.from, to: range.to }}
          fromFirst={range.moving}
          format={(v) => scale.format(v * scale.divisor) ?? ""}
          csvName={`${fabric}-link`}
          sync="tenant"
          height={200}
        />
      ) : null}
    </Stack>
  );
}

/** A predicted rate on a link with its bound in bit/s. */
const predictedOf = (x: Schemas["LinkTenant"] | undefined) =>
  x ? { predicted: x.predicted_bps, bound: x.predicted_bps * x.bound } : {};
