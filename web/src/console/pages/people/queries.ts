import { useQuery, useQueryClient } from "@tanstack/react-query";
import { all, answer, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";

export type User = Schemas["User"];
export type Grant = Schemas["Grant"];
export type Account = Schemas["ServiceAccount"];
export type Token = Schemas["Token"];

/** Roles on one fabric or on all. */
export const wideRoles = ["fabric-admin", "operator", "auditor", "feeder"] as const;
/** Roles in one tenant. */
export const tenantRoles = ["tenant-admin", "tenant-viewer"] as const;
export const isWide = (role: string) => (wideRoles as readonly string[]).includes(role);

export function useUsers(enabled: boolean) {
  return useQuery({
    queryKey: keys.users("list"),
    queryFn: () => all((cursor) => data(client.GET("/api/v1/users", { params: { query: { limit: 1000, cursor } } }))),
    enabled,
  });
}

/** A user with the ETag of its version. */
export const readUser = (user: string) =>
  answer<User>(client.GET("/api/v1/users/{user}", { params: { path: { user } } }));

export function useUser(user: string) {
  return useQuery({ queryKey: keys.users("one", user), queryFn: () => readUser(user) });
}

export function useAccounts(enabled: boolean) {
  return useQuery({
    queryKey: keys.serviceAccounts("list"),
    queryFn: () =>
      all((cursor) => data(client.GET("/api/v1/service-accounts", { params: { query: { limit: 1000, cursor } } }))),
    enabled,
  });
}

/** Where tokens belong: to the reader, or to a service account. */
export type Owner = { account?: string };

export function useTokens({ account }: Owner) {
  return useQuery({
    queryKey: keys.tokens(account ?? "me"),
    queryFn: () =>
      data<Schemas["TokenList"]>(
        account
          ? client.GET("/api/v1/service-accounts/{account}/tokens", { params: { path: { account } } })
          : client.GET("/api/v1/me/tokens"),
      ),
  });
}

/** Creates a token. The answer holds its secret: it goes to the dialog alone, never to the cache. */
export const createToken = ({ account }: Owner, body: Schemas["TokenCreate"]) =>
  data<Schemas["NewToken"]>(
    account
      ? client.POST("/api/v1/service-accounts/{account}/tokens", { params: { path: { account } }, body })
      : client.POST("/api/v1/me/tokens", { body }),
  );

export const revokeToken = ({ account }: Owner, token: string) =>
  data(
    account
      ? client.DELETE("/api/v1/service-accounts/{account}/tokens/{token}", { params: { path: { account, token } } })
      : client.DELETE("/api/v1/me/tokens/{token}", { params: { path: { token } } }),
  );

export function useRoles() {
  return useQuery({
    queryKey: keys.roles(),
    queryFn: () => data(client.GET("/api/v1/roles")),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Members of a fabric, or of a tenant of it when one is named. */
export function useMembers(fabric: string, tenant: string) {
  return useQuery({
    queryKey: keys.members(fabric, ...(tenant ? [tenant] : [])),
    queryFn: () =>
      all((cursor) => {
        const query = { limit: 1000, cursor };
        return data<Schemas["MemberList"]>(
          tenant
            ? client.GET("/api/v1/fabrics/{fabric}/tenants/{tenant}/members", {
                params: { path: { fabric, tenant }, query },
              })
            : client.GET("/api/v1/fabrics/{fabric}/members", { params: { path: { fabric }, query } }),
        );
      }),
  });
}

/** Marks what a change of accounts, roles or tokens makes stale. */
export function usePeopleChanged() {
  const cache = useQueryClient();
  /** `gone` names a user or an account that no longer exists: what is shown of it is not read again. */
  return (gone?: string) =>
    Promise.all(
      [keys.users(), keys.serviceAccounts(), keys.tokens(), keys.me(), keys.audit(), ["fabric"]].map((queryKey) =>
        cache.invalidateQueries({ queryKey, predicate: (q) => gone === undefined || q.queryKey.at(-1) !== gone }),
      ),
    );
}
