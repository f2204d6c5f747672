import { useQuery } from "@tanstack/react-query";
import { all, client, data, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";
import { useInForce } from "./inForce";

export type Plan = Schemas["Plan"];

/** A stored plan by its name; a plan never changes. */
export function usePlan(fabric: string, plan: string | undefined) {
  return useQuery({
    queryKey: keys.plan(fabric, plan ?? ""),
    queryFn: () =>
      data<Plan>(
        client.GET("/api/v1/fabrics/{fabric}/plans/{plan}", { params: { path: { fabric, plan: plan ?? "" } } }),
      ),
    enabled: fabric !== "" && !!plan,
    staleTime: 300_000,
  });
}

/**
 * The plan in force with its predictions. Without one, `name` is "" and `plan` undefined; until that is `known`, `problem` says why it could
 * not be read.
 */
export function usePlanInForce(fabric: string) {
  const inForce = useInForce(fabric);
  const name = inForce.plan?.name ?? "";
  const plan = usePlan(fabric, name);
  return {
    name,
    known: inForce.known && (name === "" || plan.data !== undefined),
    plan: plan.data,
    problem: inForce.query.error ?? plan.error ?? undefined,
  };
}

/** The stored plans of a fabric, the newest first. */
export function usePlans(fabric: string, enabled = true) {
  return useQuery({
    queryKey: keys.plans(fabric),
    queryFn: () =>
      all<Schemas["PlanSummary"]>((cursor) =>
        data(
          client.GET("/api/v1/fabrics/{fabric}/plans", {
            params: { path: { fabric }, query: { limit: 1000, cursor } },
          }),
        ),
      ),
    enabled,
  });
}

/** Compiles a plan and stores it: of the current declarations, unless `body` names a revision. */
export function storePlan(fabric: string, key: string, body: Schemas["PlanCreate"] = {}) {
  return data<Plan>(
    client.POST("/api/v1/fabrics/{fabric}/plans", {
      params: { path: { fabric }, header: { "Idempotency-Key": key } },
      body,
    }),
  );
}

/** Edits that one what-if takes, at most. */
export const mostEdits = 100;

/** What a plan of edited declarations would give each tenant, beside what the current declarations give. */
export function whatIf(fabric: string, edits: string[], signal?: AbortSignal) {
  return data<Schemas["WhatIf"]>(
    client.POST("/api/v1/fabrics/{fabric}/plans/what-if", { params: { path: { fabric } }, body: { edits }, signal }),
  );
}

/** The what-if of edits that a page or dialog begins with. */
export function useWhatIf(fabric: string, edits: string[]) {
  return useQuery({
    queryKey: keys.plans(fabric, "what-if", edits),
    queryFn: ({ signal }) => whatIf(fabric, edits, signal),
    enabled: edits.length > 0,
    refetchOnWindowFocus: false,
  });
}
