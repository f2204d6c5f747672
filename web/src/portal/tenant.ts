import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { answer, client, data, type Schemas } from "../api/client";
import { keys } from "../api/keys";
import { isSimulated, useFabrics } from "../shell/fabrics";
import type { MyTenant } from "./tenants";

export type Tenant = Schemas["Tenant"];
export type Now = Schemas["TenantNow"];

/** Milliseconds between two readings: the default period of measurements. */
export const every = 15_000;

/** The tenant in the page's address. */
export function useTenantName(): MyTenant {
  const { fabric = "", tenant = "" } = useParams({ strict: false }) as Partial<MyTenant>;
  return { fabric, tenant };
}

/** The declaration of the page's tenant, with the ETag for changes of it. */
export function useTenant() {
  const m = useTenantName();
  return useQuery({
    queryKey: keys.tenant(m.fabric, m.tenant),
    queryFn: () =>
      answer<Tenant>(client.GET("/api/v1/fabrics/{fabric}/tenants/{tenant}", { params: { path: { ...m } } })),
  });
}

/** What the page's tenant receives now. */
export function useNowFigures() {
  const m = useTenantName();
  return useQuery({
    queryKey: keys.now(m.fabric, m.tenant),
    queryFn: () =>
      data<Now>(client.GET("/api/v1/fabrics/{fabric}/tenants/{tenant}/now", { params: { path: { ...m } } })),
    refetchInterval: every,
  });
}

/** Whether the page's fabric is simulated. */
export function useSimulated(): boolean {
  const { fabric } = useTenantName();
  return isSimulated(useFabrics().data?.find((f) => f.name === fabric));
}

/** The path of the API below which everything of a tenant is. */
export function apiOf(m: MyTenant): string {
  return `/api/v1/fabrics/${encodeURIComponent(m.fabric)}/tenants/${encodeURIComponent(m.tenant)}`;
}

/** The heading of a page: whose it is, and its name. */
export function titleOf(m: MyTenant, page: string): string {
  return `${m.tenant} · ${page}`;
}
