import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { all, answer, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useOperationKey } from "../../../ui/useOperationKey";

/** The revisions of the fabric's policy, the newest first. */
export function usePolicies(fabric: string) {
  return useQuery({
    queryKey: keys.policies(fabric),
    queryFn: () =>
      all<Schemas["Policy"]>((cursor) =>
        data(
          client.GET("/api/v1/fabrics/{fabric}/policies", {
            params: { path: { fabric }, query: { limit: 1000, cursor } },
          }),
        ),
      ),
  });
}

/** What changes from revision `against` to a revision. */
export function usePolicyDifference(fabric: string, revision: number, against: number) {
  return useQuery({
    queryKey: keys.policy(fabric, revision, "diff", against),
    queryFn: () =>
      data(
        client.GET("/api/v1/fabrics/{fabric}/policies/{revision}/diff", {
          params: { path: { fabric, revision }, query: { against } },
        }),
      ),
    enabled: revision > 0 && against > 0,
    staleTime: 300_000,
  });
}

type Options = Schemas["CompileOptions"];

/** The compiler's options with the ETag that a change sends. */
export const readOptions = (fabric: string) =>
  answer<Options>(client.GET("/api/v1/fabrics/{fabric}/options", { params: { path: { fabric } } }));

export function useOptions(fabric: string) {
  return useQuery({ queryKey: keys.options(fabric), queryFn: () => readOptions(fabric) });
}

/** Replaces the compiler's options, unless they changed since the version of the ETag. */
export const saveOptions = (fabric: string, etag: string, body: Options) =>
  answer<Options>(
    client.PUT("/api/v1/fabrics/{fabric}/options", {
      params: { path: { fabric }, header: { "If-Match": etag } },
      body,
    }),
  );

/** Makes everything stale that a change of the policy concerns; the stream does the same for other tabs. */
export function useStale(fabric: string) {
  const cache = useQueryClient();
  return () => {
    for (const key of [
      keys.policies(fabric),
      keys.policy(fabric),
      keys.options(fabric),
      keys.tenants(fabric),
      keys.tenant(fabric),
      keys.overview(fabric),
    ])
      void cache.invalidateQueries({ queryKey: key });
  };
}

/** Restores a revision as a new one, unless a later revision than `latest` exists. */
export function useRestore(fabric: string, revision: number, latest: number) {
  const stale = useStale(fabric);
  const key = useOperationKey([fabric, revision, latest]);
  return useMutation({
    mutationFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/policies/{revision}/restore", {
          params: { path: { fabric, revision }, header: { "Idempotency-Key": key, "If-Match": `"${latest}"` } },
        }),
      ),
    onSuccess: stale,
  });
}

/** Labels a revision; an empty label removes it. */
export function useLabel(fabric: string, revision: number) {
  const stale = useStale(fabric);
  return useMutation({
    mutationFn: (label: string) =>
      data(
        client.PUT("/api/v1/fabrics/{fabric}/policies/{revision}/label", {
          params: { path: { fabric, revision } },
          body: { label },
        }),
      ),
    onSuccess: stale,
  });
}
