import { Outlet, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { useMe } from "../shell/me";
import { Missing, QueryView } from "../ui/states";
import { useTenantName } from "./tenant";
import { placeOfTenant, sees } from "./tenants";

/**
 * The pages of one tenant. A tenant that the reader may not see is not requested from the service: its answer is that of a tenant that
 * does not exist.
 */
export function OfTenant() {
  const m = useTenantName();
  const me = useMe();
  return <QueryView query={me}>{(reader) => (sees(reader, m) ? <Outlet /> : <Missing />)}</QueryView>;
}

/** Leads from the address of a tenant without a page to its first page. */
export function ToShare() {
  const router = useRouter();
  const to = placeOfTenant(useTenantName());
  useEffect(() => void router.navigate({ href: to, replace: true } as never), [router, to]);
  return null;
}
