import { useQuery } from "@tanstack/react-query";
import { client, data, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";

/** A stored plan by its name; a plan never changes. */
export function usePlan(fabric: string, plan: string | undefined) {
  return useQuery({
    queryKey: keys.plan(fabric, plan ?? ""),
    queryFn: () =>
      data<Schemas["Plan"]>(
        client.GET("/api/v1/fabrics/{fabric}/plans/{plan}", { params: { path: { fabric, plan: plan ?? "" } } }),
      ),
    enabled: fabric !== "" && !!plan,
    staleTime: 300_000,
  });
}

/** Compiles a plan and stores it: of the current declarations, unless `body` names a revision. */
export function storePlan(fabric: string, key: string, body: Schemas["PlanCreate"] = {}) {
  return data<Schemas["Plan"]>(
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
