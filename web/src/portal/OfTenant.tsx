import { Outlet, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { isOperator, useMe } from "../shell/me";
import { Missing, QueryView } from "../ui/states";
import { useTenantName } from "./tenant";
import { placeOfTenant, tenantsOf } from "./tenants";

/**
 * The pages of one tenant: the reader's own, or any for an operator. A tenant that the reader is no member of has the same answer as a
 * tenant that does not exist, before anything of it is requested.
 */
export function OfTenant() {
  const m = useTenantName();
  const me = useMe();
  return (
    <QueryView query={me}>
      {(reader) =>
        isOperator(reader) || tenantsOf(reader).some((x) => x.fabric === m.fabric && x.tenant === m.tenant) ? (
          <Outlet />
        ) : (
          <Missing />
        )
      }
    </QueryView>
  );
}

/** The address of a tenant without a page leads to its first one. */
export function ToShare() {
  const router = useRouter();
  const to = placeOfTenant(useTenantName());
  useEffect(() => void router.navigate({ href: to, replace: true } as never), [router, to]);
  return null;
}
