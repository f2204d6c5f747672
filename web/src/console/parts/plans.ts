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
      data(
        client.GET("/api/v1/fabrics/{fabric}/plans/{plan}", { params: { path: { fabric, plan: plan ?? "" } } }),
      ) as Promise<Plan>,
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
