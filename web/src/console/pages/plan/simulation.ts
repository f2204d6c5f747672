import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useOperationKey } from "../../parts/useOperationKey";

export type Simulation = Schemas["Simulation"];

/** What a packet simulation of a plan measured for a tenant. */
export type SimulatedShare = { tenant: string; delivered_bps: number; share_error: number; within_bound: boolean };

/** The result of a finished simulation of a plan (field `simulation` of `fairlane compile --simulate --json`). */
export type Simulated = { tenants: SimulatedShare[]; seed: number; simulated_s: number; max_share_error: number };

/** The result of a simulation of a plan; undefined until it has one. */
export function resultOf(s: Simulation | undefined): Simulated | undefined {
  const r = s?.result as Partial<Simulated> | undefined;
  return r && Array.isArray(r.tenants) ? (r as Simulated) : undefined;
}

/** Whether a task goes on. */
export const goesOn = (s: Simulation | undefined): boolean => s?.state === "queued" || s?.state === "running";

/** The simulation named in the address, else the latest one of the plan. */
export function useSimulationOf(fabric: string, plan: string, id: string) {
  const list = useQuery({
    queryKey: keys.simulations("of-plan", fabric, plan),
    queryFn: () => data(client.GET("/api/v1/simulations", { params: { query: { limit: 200 } } })),
    select: (l) => l.items.filter((s) => s.plan === plan && s.fabric === fabric).sort((a, b) => b.id - a.id)[0]?.id,
    enabled: id === "",
  });
  const wanted = /^\d+$/.test(id) ? Number(id) : list.data;
  return useQuery({
    queryKey: keys.simulations(wanted ?? 0),
    queryFn: () =>
      data(client.GET("/api/v1/simulations/{simulation}", { params: { path: { simulation: wanted ?? 0 } } })),
    enabled: wanted !== undefined,
    refetchInterval: (q) => (goesOn(q.state.data) ? 2000 : false),
  });
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
