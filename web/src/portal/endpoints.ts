import { useQuery } from "@tanstack/react-query";
import { client, data, type Schemas } from "../api/client";
import { keys } from "../api/keys";
import { readEndpoints } from "./pages/endpoints/states";
import { every, useTenantName } from "./tenant";

/** The ports of the page's tenant, with their state. */
export function useEndpoints() {
  const m = useTenantName();
  return useQuery({
    queryKey: keys.endpoints(m.fabric, m.tenant),
    queryFn: () =>
      readEndpoints((cursor) =>
        data<Schemas["EndpointList"]>(
          client.GET("/api/v1/fabrics/{fabric}/tenants/{tenant}/endpoints", {
            params: { path: { ...m }, query: { limit: 1000, cursor } },
          }),
        ),
      ),
    refetchInterval: every,
  });
}
