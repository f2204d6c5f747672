import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useOperationKey } from "../../../ui/useOperationKey";
import type { Simulated } from "../../parts/shares";

export type Simulation = Schemas["Simulation"];

/** The result of a simulation of a plan; undefined until it has one, and for a scenario. */
export function resultOf(s: Simulation | undefined): Simulated | undefined {
  const r = s?.result as Partial<Simulated> | undefined;
  return r && Array.isArray(r.tenants) ? (r as Simulated) : undefined;
}

/** Whether a simulation is queued or running. */
export const isActive = (s: Simulation | undefined): boolean => s?.state === "queued" || s?.state === "running";

/** A simulation by its number, with its progress every two seconds until it ends. */
export function useSimulation(id: number | undefined) {
  return useQuery({
    queryKey: keys.simulations(id ?? 0),
    queryFn: () => data(client.GET("/api/v1/simulations/{simulation}", { params: { path: { simulation: id ?? 0 } } })),
    enabled: id !== undefined,
    refetchInterval: (q) => (isActive(q.state.data) ? 2000 : false),
  });
}

/** The simulation named in the address, else the latest one of the plan. */
export function useSimulationOf(fabric: string, plan: string, id: string) {
  const list = useQuery({
    queryKey: keys.simulations("of-plan", fabric, plan),
    queryFn: () => data(client.GET("/api/v1/simulations", { params: { query: { limit: 1000 } } })),
    select: (l) => l.items.filter((s) => s.plan === plan && s.fabric === fabric).sort((a, b) => b.id - a.id)[0]?.id,
    enabled: id === "",
  });
  return useSimulation(/^\d+$/.test(id) ? Number(id) : list.data);
}

/** Starts a simulation of a plan. `attempt` tells one press from a later one. */
export function useSimulate(fabric: string, plan: string, attempt: number) {
  const cache = useQueryClient();
  const key = useOperationKey([fabric, plan, attempt]);
  return useMutation({
    mutationFn: () =>
      data(
        client.POST("/api/v1/simulations", {
          params: { header: { "Idempotency-Key": key } },
          body: { fabric, plan },
        }),
      ),
    onSuccess: () => void cache.invalidateQueries({ queryKey: keys.simulations() }),
  });
}
