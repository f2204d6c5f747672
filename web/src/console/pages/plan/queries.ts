import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { all, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useOperationKey } from "../../../ui/useOperationKey";
import { type Plan, storePlan } from "../../parts/plans";

/** What changes from the plan in force to a plan. */
export function useDifference(fabric: string, plan: string, against: string | undefined) {
  return useQuery({
    queryKey: keys.plan(fabric, plan, "diff", against ?? ""),
    queryFn: () =>
      data(
        client.GET("/api/v1/fabrics/{fabric}/plans/{plan}/diff", {
          params: { path: { fabric, plan }, query: { against: against ?? "" } },
        }),
      ),
    enabled: plan !== "" && !!against && against !== plan,
    staleTime: 300_000,
  });
}

/** The largest number of explanations that the page reads; a filter by port or tenant reads others. */
export const explained = 2000;

/** Settings with their reasons, of one port or node, of one tenant, or of all. */
export function useExplanations(fabric: string, plan: string, { port = "", tenant = "" }) {
  return useQuery({
    queryKey: keys.plan(fabric, plan, "explain", port, tenant),
    queryFn: () =>
      all<Schemas["Explanation"]>(
        (cursor) =>
          data(
            client.GET("/api/v1/fabrics/{fabric}/plans/{plan}/explain", {
              params: {
                path: { fabric, plan },
                query: { limit: 1000, cursor, ...(port ? { port } : {}), ...(tenant ? { tenant } : {}) },
              },
            }),
          ),
        explained,
      ),
    enabled: plan !== "",
    staleTime: 300_000,
  });
}

/** Waves that a rollout of a plan would have. Nothing is started. */
export function usePreview(fabric: string, plan: string, options: Schemas["RolloutOptions"], enabled = true) {
  return useQuery({
    queryKey: keys.plan(fabric, plan, "preview", options),
    queryFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/rollouts", {
          params: { path: { fabric }, query: { dry_run: true } },
          body: { plan, options },
        }),
      ) as Promise<Schemas["RolloutPreview"]>,
    enabled: enabled && plan !== "",
    placeholderData: (old) => old,
    retry: false,
  });
}

/** What the compiler makes of the declarations or of a revision; nothing is stored. */
export function useDryCompile(fabric: string, body: Schemas["PlanCreate"]) {
  return useQuery({
    queryKey: keys.plan(fabric, "dry-run", body),
    queryFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/plans", {
          params: { path: { fabric }, query: { dry_run: true } },
          body,
        }),
      ) as Promise<Plan>,
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false, // compiles anew
    retry: false,
  });
}

/** Compiles and stores a plan. */
export function useStorePlan(fabric: string, body: Schemas["PlanCreate"]) {
  const cache = useQueryClient();
  const key = useOperationKey(body);
  return useMutation({
    mutationFn: () => storePlan(fabric, key, body),
    onSuccess: (plan) => {
      cache.setQueryData(keys.plan(fabric, plan.name), plan);
      void cache.invalidateQueries({ queryKey: keys.plans(fabric) });
    },
  });
}

/** The number of the latest revision of the fabric's policy; undefined while it is read, and without one. */
export function useLatestRevision(fabric: string) {
  return useQuery({
    queryKey: keys.policies(fabric, "latest"),
    queryFn: () =>
      data(client.GET("/api/v1/fabrics/{fabric}/policies", { params: { path: { fabric }, query: { limit: 1 } } })),
    select: (l) => l.items[0]?.revision,
  }).data;
}
