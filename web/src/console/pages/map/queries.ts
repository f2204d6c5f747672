import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { nodeOf } from "./model";

/** Milliseconds between two readings of what is measured while the page is in view. */
const refetchInterval = 15_000;

/** The map, or the members of a group; `find` locates a device. The previous picture stays while the next one is read. */
export function useMap(fabric: string, expand: string, find: string) {
  return useQuery({ ...mapQuery(fabric, expand, find), refetchInterval });
}

/** The map as it was read last, for names and places, which measurements do not change. */
export function useMapOnce(fabric: string, expand: string, enabled: boolean) {
  return useQuery({ ...mapQuery(fabric, expand, ""), enabled });
}

const mapQuery = (fabric: string, expand: string, find: string) =>
  queryOptions({
    queryKey: keys.map(fabric, expand, find),
    queryFn: ({ signal }) =>
      data(
        client.GET("/api/v1/fabrics/{fabric}/map", {
          params: {
            path: { fabric },
            query: { ...(expand ? { expand } : {}), ...(find ? { find: nodeOf(find) } : {}) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** Links between a tier of switches and those above. */
export function useMatrix(fabric: string, tier: string, group: string, enabled: boolean) {
  return useQuery({
    queryKey: keys.matrix(fabric, tier, group),
    queryFn: ({ signal }) =>
      data(
        client.GET("/api/v1/fabrics/{fabric}/map/matrix", {
          params: {
            path: { fabric },
            query: { ...(tier ? { tier: Number(tier) } : {}), ...(group ? { group } : {}) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval,
    enabled,
  });
}

/** The route between two ports. */
export function usePath(fabric: string, src: string, dst: string, tenant: string) {
  return useQuery({
    queryKey: keys.path(fabric, src, dst, tenant),
    queryFn: ({ signal }) =>
      data(
        client.GET("/api/v1/fabrics/{fabric}/path", {
          params: { path: { fabric }, query: { src, dst, ...(tenant ? { tenant } : {}) } },
          signal,
        }),
      ),
    enabled: src !== "" && dst !== "",
    refetchInterval,
  });
}

/** Devices whose name or GUID contains a text. */
export function useDevices(fabric: string, text: string, kinds: Schemas["SearchResult"]["kind"][]) {
  const found = useQuery({
    queryKey: keys.search(fabric, text, "devices"),
    queryFn: ({ signal }) =>
      data(client.GET("/api/v1/search", { params: { query: { q: text, fabric, limit: 50 } }, signal })),
    enabled: text !== "",
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
  return (text ? (found.data?.results ?? []) : []).filter((r) => kinds.includes(r.kind));
}
