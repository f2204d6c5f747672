import { useQuery } from "@tanstack/react-query";
import { all, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { Problem } from "../../../api/problem";
import { instant, quoted } from "../../../api/prom";

/** A pending or firing alert, as the alert endpoint of Prometheus gives it. */
export type Alert = {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  state: string;
  activeAt: string;
  value: string;
};

export type Objective = Schemas["Objective"];

/** Windows of the burn rates, with the rate at which an alert fires (docs/telemetry.md): the budget of 28 days lasts 28 days at 1. */
export const windows = [
  { name: "5m", seconds: 300, limit: 14.4 },
  { name: "1h", seconds: 3600, limit: 14.4 },
  { name: "6h", seconds: 21600, limit: 6 },
  { name: "1d", seconds: 86400, limit: 3 },
  { name: "3d", seconds: 259200, limit: 1 },
] as const;

export type Window = (typeof windows)[number]["name"];

/** The budget of a tenant. A rate is undefined where the tenant did not contend in the window. */
export type Budget = { tenant: string; objective: Objective; left?: number; burn: Partial<Record<Window, number>> };

/** Alerts about a fabric and those about the service, the firing ones first. */
export function useAlerts(fabric: string) {
  return useQuery({
    queryKey: keys.alerts(),
    queryFn: async () => {
      const got = (await data(client.GET("/api/v1/prometheus/api/v1/alerts"))) as { data?: { alerts?: Alert[] } };
      if (!Array.isArray(got.data?.alerts)) throw new Problem("garbled", 200);
      return got.data.alerts;
    },
    select: (list) =>
      list
        .filter((a) => !a.labels.fabric || a.labels.fabric === fabric)
        .sort((a, b) => rank(a) - rank(b) || a.activeAt.localeCompare(b.activeAt)),
    refetchInterval: 15_000,
  });
}

const rank = (a: Alert) => (a.state === "firing" ? 0 : 2) + (a.labels.severity === "page" ? 0 : 1);

/** The objectives in force, of all tenants of a fabric. */
export function useObjectives(fabric: string) {
  return useQuery({
    queryKey: keys.objectives(fabric),
    queryFn: async () => {
      let standard: Objective | undefined;
      const items = await all(async (cursor) => {
        const got = await data(
          client.GET("/api/v1/fabrics/{fabric}/objectives", {
            params: { path: { fabric }, query: { limit: 1000, cursor } },
          }),
        );
        standard = got.default;
        return got;
      });
      return { standard, items };
    },
  });
}

/** Budget left and burn rates of all tenants, by a query each. */
export function useBurn(fabric: string) {
  return useQuery({
    queryKey: keys.series(fabric, "burn"),
    queryFn: async ({ signal }) => {
      const where = `{fabric=${quoted(fabric)}}`;
      const perTenant = async (query: string) =>
        new Map((await instant(query, undefined, signal)).map((s) => [s.labels.tenant ?? "", s.value]));
      const [left, ...rates] = await Promise.all([
        perTenant(`slo:period_error_budget_remaining:ratio${where}`),
        ...windows.map((w) =>
          perTenant(`slo:sli_error:ratio_rate${w.name}${where} / on (fabric, tenant) slo:error_budget:ratio${where}`),
        ),
      ]);
      return { left: left ?? new Map<string, number>(), rates };
    },
    refetchInterval: 30_000,
  });
}

/** Objectives with their budgets, the worst first: by the budget left, then by the fastest burn over its limit. */
export function budgetsOf(
  items: Objective[],
  burn: { left: Map<string, number>; rates: Map<string, number>[] } | undefined,
): Budget[] {
  const list = items.flatMap((objective): Budget[] => {
    const tenant = objective.tenant ?? "";
    const rates = Object.fromEntries(
      windows.flatMap((w, i) => (burn?.rates[i]?.has(tenant) ? [[w.name, burn.rates[i]?.get(tenant)]] : [])),
    );
    return tenant ? [{ tenant, objective, left: burn?.left.get(tenant), burn: rates }] : [];
  });
  return list.sort((a, b) => worst(b) - worst(a) || (a.left ?? 1) - (b.left ?? 1) || a.tenant.localeCompare(b.tenant));
}

/** Whether anything of a budget was measured. */
export const measured = (b: Budget): boolean => b.left !== undefined || Object.keys(b.burn).length > 0;

/** The fastest burn of a tenant over the rate at which an alert fires: from 1 on an alert is near. */
export function worst(b: Budget): number {
  return Math.max(0, ...windows.map((w) => (b.burn[w.name] ?? 0) / w.limit));
}
