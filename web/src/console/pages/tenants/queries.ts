import { useQuery } from "@tanstack/react-query";
import { all, answer, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { instant, quoted, range, type Sample } from "../../../api/prom";

export type Tenant = Schemas["Tenant"];
export type Flow = Schemas["Flow"];

/** The declared tenants of a fabric by name, each with its number of declared flows. */
export function useTenants(fabric: string) {
  return useQuery({
    queryKey: keys.tenants(fabric),
    queryFn: () =>
      all<Tenant>((cursor) =>
        data(
          client.GET("/api/v1/fabrics/{fabric}/tenants", {
            params: { path: { fabric }, query: { limit: 1000, flow_counts: true, cursor } },
          }),
        ),
      ),
  });
}

/** The declared flows of a fabric with their version, for a change with If-Match. */
export function readFlows(fabric: string) {
  return answer<Schemas["FlowSet"]>(client.GET("/api/v1/fabrics/{fabric}/flows", { params: { path: { fabric } } }));
}

/** What was measured of a tenant: rates in bit/s, ratios as fractions. A figure that was not measured is undefined. */
export type Measured = {
  entitled?: number;
  delivered?: number;
  error?: number;
  received?: number;
  link?: string;
  budget?: number;
  state?: string;
};

/** Series of one value a tenant, by the name of the figure. */
const single = {
  entitled: "fairlane_tenant_entitled_bits_per_second",
  delivered: "fairlane_tenant_delivered_bits_per_second",
  error: "fairlane_tenant_share_error_ratio",
  received: "fairlane_tenant_received_ratio",
  budget: "slo:period_error_budget_remaining:ratio",
  state: "fairlane_tenant_state",
} as const;

/** One query for several series, with the name of each in the label `what`: all values are of one moment. `and` restricts each of them. */
export function joined(series: Record<string, string>, matchers: string, and = ""): string {
  return Object.entries(series)
    .map(([what, metric]) => `label_replace(${metric}{${matchers}}${and && ` and ${and}`}, "what", "${what}", "", "")`)
    .join(" or ");
}

/** Sorts the samples of the joined query by tenant. */
export function measuredOf(samples: Sample[]): Map<string, Measured> {
  const out = new Map<string, Measured>();
  for (const { labels, value } of samples) {
    const { tenant = "", what = "" } = labels;
    const figures = out.get(tenant) ?? {};
    out.set(tenant, figures);
    if (what === "state") {
      if (value === 1) figures.state = labels.state;
    } else if (what === "received") {
      if (figures.received === undefined || value < figures.received) {
        figures.received = value;
        figures.link = labels.link;
      }
    } else if (what in single) figures[what as "entitled"] = value;
  }
  return out;
}

/** What is measured now of all tenants, or of one. */
export function useMeasured(fabric: string, tenant?: string) {
  return useQuery({
    queryKey: keys.series("tenants", fabric, tenant),
    queryFn: async ({ signal }) => {
      const matchers = `fabric=${quoted(fabric)}${tenant === undefined ? "" : `,tenant=${quoted(tenant)}`}`;
      return measuredOf(await instant(joined(single, matchers), undefined, signal));
    },
    refetchInterval: 15_000,
  });
}

/** Seconds of the small lines, and between their values. */
const sparkLength = 3600;
const sparkStep = 120;

/** The values from the first time at which one of the series has one: those of a young fabric fill their charts. */
export function sinceFirst<S extends { values: (number | null)[] }>(series: S[]): S[] {
  const firsts = series.map((s) => s.values.findIndex((v) => v !== null)).filter((i) => i >= 0);
  const first = firsts.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  return Number.isFinite(first) ? series.map((s) => ({ ...s, values: s.values.slice(first) })) : series;
}

/** Delivered rates of the last hour, of all tenants in one query. */
export function useSparks(fabric: string, enabled: boolean) {
  return useQuery({
    queryKey: keys.series("sparks", fabric),
    queryFn: async ({ signal }) => {
      const to = Math.floor(Date.now() / 1000 / sparkStep) * sparkStep;
      const query = `fairlane_tenant_delivered_bits_per_second{fabric=${quoted(fabric)}}`;
      const series = await range(query, to - sparkLength, to, sparkStep, signal);
      return new Map(sinceFirst(series).map((s) => [s.labels.tenant ?? "", s.values]));
    },
    enabled,
    refetchInterval: 120_000,
  });
}
