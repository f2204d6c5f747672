import { useQuery } from "@tanstack/react-query";
import { client, data, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";

export type FabricOverview = Schemas["FabricOverview"];

/** The overview of a fabric. With `every`, it is read again each `every` milliseconds: measurements send no events. */
export function useOverview(fabric: string, every?: number) {
  return useQuery({
    queryKey: keys.overview(fabric),
    queryFn: () => data(client.GET("/api/v1/fabrics/{fabric}/overview", { params: { path: { fabric } } })),
    enabled: fabric !== "",
    refetchInterval: every,
  });
}

/** The plan in force: name, revision of the policy, time. `known` is false until the service has answered; without a plan `plan` is undefined. */
export function useInForce(fabric: string) {
  const overview = useOverview(fabric);
  return { known: overview.data !== undefined, plan: overview.data?.plan, query: overview };
}
