import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { all, client, data, type Schemas } from "../api/client";
import { keys } from "../api/keys";

export type Fabric = Schemas["Fabric"];

/** The fabrics that the reader may see, by name. */
export function useFabrics() {
  return useQuery({
    queryKey: keys.fabrics(),
    queryFn: () => all((cursor) => data(client.GET("/api/v1/fabrics", { params: { query: { limit: 1000, cursor } } }))),
    staleTime: 30_000,
  });
}

/** The fabric in the page's address; "" outside of one. */
export function useFabricName(): string {
  const { fabric } = useParams({ strict: false }) as { fabric?: string };
  return fabric ?? "";
}

/** Whether a fabric is simulated: its traffic is packets of the simulator, and its rates are in the fabric's own time. */
export function isSimulated(fabric: Fabric | undefined): boolean {
  return fabric !== undefined && (fabric.source.startsWith("ibsim:") || fabric.time_scale !== 1);
}
