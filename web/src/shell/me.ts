import { useQuery } from "@tanstack/react-query";
import { client, data, type Schemas } from "../api/client";
import { keys } from "../api/keys";

export type Me = Schemas["Me"];
export type Action = "read" | "write" | "run";

/** The reader's account and rights. The cache keeps them: a change of rights takes effect at the next sign-in or reload. */
export function useMe() {
  return useQuery({ queryKey: keys.me(), queryFn: () => data<Me>(client.GET("/api/v1/me")), staleTime: 60_000 });
}

/** How users can sign in. The answer needs no session, and changes with a restart of the service alone. */
export function useSignInMethods() {
  return useQuery({
    queryKey: keys.signIn(),
    queryFn: () => data(client.GET("/api/v1/sign-in")),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Whether permissions allow an action on an object, on a fabric or in a tenant of it. The service decides; this only shapes the page. */
export function allows(me: Me | undefined, object: string, action: Action, fabric?: string, tenant?: string): boolean {
  const domains = ["*", fabric, fabric && tenant ? `${fabric}/${tenant}` : undefined];
  return (me?.permissions ?? []).some(
    (p) => p.object === object && p.actions.includes(action) && domains.includes(p.domain),
  );
}

/** `can(object, action, fabric?, tenant?)` for the reader. */
export function useCan() {
  const { data: me } = useMe();
  return (object: string, action: Action, fabric?: string, tenant?: string) =>
    allows(me, object, action, fabric, tenant);
}

/** Whether the reader has a role outside single tenants: then the console is theirs, else the portal. */
export function isOperator(me: Me): boolean {
  return me.roles.some((r) => !r.tenant);
}
