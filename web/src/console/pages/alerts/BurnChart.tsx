import { Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { keys } from "../../../api/keys";
import { quoted, range, stepOf } from "../../../api/prom";
import { useFormat } from "../../../format/useFormat";
import { LazyTimeChart } from "../../../ui/chart/LazyTimeChart";
import { parseRange, RangePicker, type RangeValue, rangeSearch, resolveRange } from "../../../ui/chart/rangePicker";
import { useNow } from "../../../ui/now";
import { QueryView } from "../../../ui/states";
import { Part } from "../../parts/Part";
import { windows } from "./queries";

type Props = {
  fabric: string;
  tenant: string;
  url: { last: string; from: string; to: string };
  onUrl: (patch: Partial<Props["url"]>) => void;
};

/** Burn rates of one tenant over time. A gap means that the tenant did not contend in the window. */
export function BurnChart({ fabric, tenant, url, onUrl }: Props) {
  const { t } = useTranslation("alerts");
  const format = useFormat();
  const now = useNow(60) / 1000;
  const value = parseRange(url, { last: "6h" });
  const span = resolveRange(value, now);
  const query = useQuery({
    queryKey: keys.series(fabric, "burn-of", tenant, span),
    queryFn: async ({ signal }) => {
      const where = `{fabric=${quoted(fabric)}, tenant=${quoted(tenant)}}`;
      const step = stepOf(span.from, span.to);
      const from = Math.floor(span.from / step) * step;
      const got = await Promise.all(
        windows.map((w) =>
          range(
            `slo:sli_error:ratio_rate${w.name}${where} / on (fabric, tenant) slo:error_budget:ratio${where}`,
            from,
            span.to,
            step,
            signal,
          ),
        ),
      );
      const times: number[] = [];
      for (let at = from; at <= span.to; at += step) times.push(at);
      return { times, values: got.map((series) => series[0]?.values ?? times.map(() => null)) };
    },
    placeholderData: (old) => old,
  });
  const set = (next: RangeValue) => onUrl(rangeSearch(next));
  return (
    <Part title={t("chart-of", { tenant })}>
      <Stack gap="sm">
        <RangePicker value={value} onChange={set} now={now} />
        <QueryView query={query}>
          {(d) => (
            <LazyTimeChart
              title={t("chart-of", { tenant })}
              summary={t("chart-summary", { tenant })}
              unit={t("chart-unit")}
              times={d.times}
              series={windows.map((w, i) => ({
                label: t("burn-in", { window: format.duration(w.seconds) ?? "" }),
                values: d.values[i] ?? [],
                kind: "line",
              }))}
              range={span}
              fromFirst={"last" in value}
              now={now}
              onRange={(from, to) => set({ from, to })}
              format={(v) => format.fixed(v, 2) ?? ""}
              csvName={`${fabric}-${tenant}-burn`}
              beyond="leave-out"
            />
          )}
        </QueryView>
      </Stack>
    </Part>
  );
}
