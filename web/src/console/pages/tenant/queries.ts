import { useQuery } from "@tanstack/react-query";
import { answer, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { instant, quoted, range, type Sample } from "../../../api/prom";
import { latestEvents } from "../../parts/events";
import { joined, type Tenant } from "../tenants/queries";
import { type History, historyOf } from "./history";

export type Now = Schemas["TenantNow"];

/** Reads a tenant with its entity tag. */
export const readTenant = (fabric: string, tenant: string) =>
  answer<Tenant>(client.GET("/api/v1/fabrics/{fabric}/tenants/{tenant}", { params: { path: { fabric, tenant } } }));

/** The declared tenant with its entity tag. */
export function useTenant(fabric: string, tenant: string) {
  return useQuery({ queryKey: keys.tenant(fabric, tenant), queryFn: () => readTenant(fabric, tenant) });
}

/** What the tenant receives now, read again every 15 s. */
export function useNowOf(fabric: string, tenant: string) {
  return useQuery({
    queryKey: keys.now(fabric, tenant),
    queryFn: () =>
      data<Now>(client.GET("/api/v1/fabrics/{fabric}/tenants/{tenant}/now", { params: { path: { fabric, tenant } } })),
    refetchInterval: 15_000,
  });
}

const series = {
  entitled: "fairlane_tenant_entitled_bits_per_second",
  delivered: "fairlane_tenant_delivered_bits_per_second",
  predicted: "fairlane_tenant_predicted_bits_per_second",
  received: "fairlane_tenant_received_ratio",
  state: "fairlane_tenant_state",
};

/** Rates and states of a tenant over a range in seconds since 1970. `moving` ranges are read again with the measurements. */
export function useHistory(fabric: string, tenant: string, from: number, to: number, step: number, moving: boolean) {
  return useQuery({
    queryKey: keys.series("tenant", fabric, tenant, from, to, step),
    queryFn: async ({ signal }): Promise<History> => {
      const matchers = `fabric=${quoted(fabric)},tenant=${quoted(tenant)}`;
      return historyOf(await range(joined(series, matchers), from, to, step, signal), from, to, step);
    },
    placeholderData: (before) => before,
    staleTime: moving ? 10_000 : Number.POSITIVE_INFINITY,
  });
}

/** A link on which a tenant meets others: rates in bit/s, undefined where not measured. */
export type Meeting = {
  link: string;
  use?: number;
  capacity?: number;
  tenants: { tenant: string; entitled?: number; delivered?: number }[];
};

const linkSeries = {
  entitled: "fairlane_link_tenant_entitled_bits_per_second",
  delivered: "fairlane_link_tenant_delivered_bits_per_second",
  use: "fairlane_link_use_ratio",
  capacity: "fairlane_link_capacity_bits_per_second",
};

/** The contended links of a tenant with all tenants on them, at a moment in seconds since 1970, or now. */
export function useMeetings(fabric: string, tenant: string, at: number | undefined) {
  return useQuery({
    queryKey: keys.series("meetings", fabric, tenant, at ?? "now"),
    queryFn: async ({ signal }) => {
      const own = `on (link) fairlane_link_tenant_entitled_bits_per_second{fabric=${quoted(fabric)},tenant=${quoted(tenant)}}`;
      const query = joined(linkSeries, `fabric=${quoted(fabric)}`, own);
      return meetingsOf(await instant(query, at, signal), tenant);
    },
    refetchInterval: at === undefined ? 15_000 : false,
  });
}

/** Sorts the samples of links; the busiest link first, and on it the tenant itself before the others by rate. */
export function meetingsOf(samples: Sample[], own: string): Meeting[] {
  const links = new Map<string, Meeting>();
  const at = (link: string) => {
    const meeting = links.get(link) ?? { link, tenants: [] };
    links.set(link, meeting);
    return meeting;
  };
  for (const { labels, value } of samples) {
    const meeting = at(labels.link ?? "");
    if (labels.what === "use" || labels.what === "capacity") meeting[labels.what] = value;
    else if (labels.what === "entitled" || labels.what === "delivered") {
      const tenant = labels.tenant ?? "";
      let there = meeting.tenants.find((x) => x.tenant === tenant);
      if (!there) {
        there = { tenant };
        meeting.tenants.push(there);
      }
      there[labels.what] = value;
    }
  }
  for (const m of links.values())
    m.tenants.sort(
      (a, b) => Number(b.tenant === own) - Number(a.tenant === own) || (b.delivered ?? 0) - (a.delivered ?? 0),
    );
  return [...links.values()].sort((a, b) => (b.use ?? 0) - (a.use ?? 0) || a.link.localeCompare(b.link));
}

/** Delivered rates of the tenants on a link over a range. */
export function useLinkHistory(fabric: string, link: string, from: number, to: number, step: number) {
  return useQuery({
    queryKey: keys.series("link", fabric, link, from, to, step),
    queryFn: ({ signal }) => {
      const query = `fairlane_link_tenant_delivered_bits_per_second{fabric=${quoted(fabric)},link=${quoted(link)}}`;
      return range(query, from, to, step, signal);
    },
    placeholderData: (before) => before,
  });
}

/** Marks that a chart can hold without covering itself. */
const mostMarks = 30;

/**
 * The latest events of a range in seconds since 1970 that concern a tenant: its own changes, rollouts, and changes of the whole policy. Without
 * `to`, up to now: such an event makes the answer stale.
 */
export function useMarks(fabric: string, tenant: string, from: number, to: number | undefined) {
  return useQuery({
    queryKey: keys.tenant(fabric, tenant, "marks", from, to),
    queryFn: () =>
      latestEvents(fabric, {
        from: from * 1000,
        to: to === undefined ? undefined : to * 1000,
        most: mostMarks,
        wanted: (e) => touches(e, tenant),
      }),
    placeholderData: (before) => before,
  });
}

const ofAll =
  /^(rollout\.(started|succeeded|partial|failed|rolled-back|canceled|interrupted)|flows\.|policy\.restored|options\.)/;

/** Whether an event may have changed what a tenant receives. */
export function touches(e: Pick<Schemas["Event"], "kind" | "subject">, tenant: string): boolean {
  if (e.kind.startsWith("tenant.")) return e.subject === tenant || e.subject.startsWith(`${tenant}/`);
  return ofAll.test(e.kind);
}
