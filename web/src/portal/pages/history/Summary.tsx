import { SimpleGrid, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { instant } from "../../../api/prom";
import { useFormat } from "../../../format/useFormat";
import type { TimeRange } from "../../../ui/chart/types";
import { Rate } from "../../../ui/values";
import { Why } from "../../../ui/Why";
import { selector } from "../../series";
import type { MyTenant } from "../../tenants";

/** Figures of a range over contended time. Rates in bit/s; undefined: not measured, or never contended. */
export type RangeSummary = {
  range: TimeRange;
  p5?: number;
  p50?: number;
  contended_s?: number;
  bad_s?: number;
};

/** Reads the figures of a range: percentiles of the delivered rate while the tenant contended, contended and bad seconds. */
export async function summaryOf(m: MyTenant, range: TimeRange, signal?: AbortSignal): Promise<RangeSummary> {
  const span = `${Math.max(60, Math.round(range.to - range.from))}s`;
  const delivered = selector("fairlane_tenant_delivered_bits_per_second", m);
  const contending = selector("fairlane_tenant_state", m, ',state="contending"');
  const contended = `(${delivered} and on (fabric, tenant) ${contending})[${span}:]`;
  const one = async (query: string) => (await instant(query, range.to, signal))[0]?.value;
  const [p5, p50, contendedS, badS] = await Promise.all([
    one(`quantile_over_time(0.05, ${contended})`),
    one(`quantile_over_time(0.5, ${contended})`),
    one(`increase(${selector("fairlane_tenant_contended_seconds_total", m)}[${span}])`),
    one(`increase(${selector("fairlane_tenant_share_bad_seconds_total", m)}[${span}])`),
  ]);
  return { range, p5, p50, contended_s: contendedS, bad_s: badS };
}

/** The answer of the page: how long the tenant was below its share. */
export function HistoryAnswer({ summary: s }: { summary: RangeSummary }) {
  const { t } = useTranslation("history");
  const format = useFormat();
  const [contended, bad] = [format.duration(s.contended_s), format.duration(s.bad_s)];
  if (s.contended_s === 0) return t("answer-idle");
  if (contended === undefined || bad === undefined) return t("answer-none");
  return t(s.bad_s === 0 ? "answer-kept" : "answer-below", { contended, bad });
}

/** Percentiles, contended time and time below the share. */
export function Summary({ summary: s }: { summary: RangeSummary }) {
  const { t } = useTranslation(["history", "common"]);
  const format = useFormat();
  const missing = t("common:not-measured");
  const time = (v: number | undefined) => format.duration(v) ?? missing;
  const good = s.contended_s && s.bad_s !== undefined ? 1 - Math.min(s.bad_s / s.contended_s, 1) : undefined;
  const figures = [
    { id: "p50", value: <Rate bps={s.p50} />, formula: "quantile_over_time(0.5, delivered and contending)" },
    { id: "p5", value: <Rate bps={s.p5} />, formula: "quantile_over_time(0.05, delivered and contending)" },
    { id: "contended", value: time(s.contended_s), formula: "increase(contended_seconds)" },
    { id: "below", value: time(s.bad_s), formula: "increase(bad_seconds)" },
  ];
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="sm">
      {figures.map(({ id, value, formula }) => (
        <div className="fl-panel" key={id} data-figure={id}>
          <Text size="sm" c="dimmed">
            {t(`figure.${id}`)}
          </Text>
          <Why
            reasoning={{
              of: t(`figure.${id}`),
              value,
              sentence: t(`figure-why.${id}`),
              formula,
              inputs: [
                { name: t("from"), value: format.absolute(s.range.from * 1000) },
                { name: t("to"), value: format.absolute(s.range.to * 1000) },
                { name: t("good"), value: format.share(good) ?? missing },
              ],
            }}
          >
            <Text span fz="xl" fw={650} className="fl-numeric">
              {value}
            </Text>
          </Why>
        </div>
      ))}
    </SimpleGrid>
  );
}
