import { useQuery } from "@tanstack/react-query";
import { client, data } from "../../api/client";
import { keys } from "../../api/keys";

/** The answer that the overview stands on; each part of the console reads the same one. */
export function useOverview(fabric: string) {
  return useQuery({
    queryKey: keys.overview(fabric),
    queryFn: () => data(client.GET("/api/v1/fabrics/{fabric}/overview", { params: { path: { fabric } } })),
    enabled: fabric !== "",
  });
}

/** The plan in force: name, revision of the policy, time. `known` is false until the service has answered; without a plan `plan` is undefined. */
export function useInForce(fabric: string) {
  const overview = useOverview(fabric);
  return { known: overview.data !== undefined, plan: overview.data?.plan, query: overview };
}
