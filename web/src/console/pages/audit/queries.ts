import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { Problem } from "../../../api/problem";

export type Entry = Schemas["AuditEntry"];

/** The filters in the page's address; an empty text filters nothing. Times are RFC 3339. */
export type AuditFilter = {
  actor: string;
  action: string;
  object: string;
  fabric: string;
  outcome: string;
  since: string;
  until: string;
  order: string;
};

export const noFilter: AuditFilter = {
  actor: "",
  action: "",
  object: "",
  fabric: "",
  outcome: "",
  since: "",
  until: "",
  order: "newest",
};

/** The filter as parameters of the request, and of the page's address. */
export function parametersOf(filter: AuditFilter): Record<string, string> {
  return Object.fromEntries(
    Object.entries(filter).filter(([name, value]) => value !== "" && !(name === "order" && value === "newest")),
  );
}

/** One page of entries. */
export function readEntries(filter: AuditFilter, limit: number, cursor?: string, signal?: AbortSignal) {
  const query = { ...parametersOf(filter), limit, cursor } as { outcome?: Schemas["AuditOutcome"] };
  return data<Schemas["AuditList"]>(client.GET("/api/v1/audit", { params: { query }, signal }));
}

/** Entries of one page of the list. */
const pageSize = 200;

/**
 * The entries that match the filter, page by page. They are read again only on request: an event would read all pages again.
 * The cache drops them with the page, since there may be a million.
 */
export function useEntries(filter: AuditFilter) {
  return useInfiniteQuery({
    queryKey: keys.audit("entries", filter),
    queryFn: ({ pageParam, signal }) => readEntries(filter, pageSize, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    gcTime: 0,
  });
}

/** One entry by its number. */
export function useEntry(seq: number, known: Entry | undefined) {
  return useQuery({
    queryKey: keys.audit("entry", seq),
    queryFn: async ({ signal }) => {
      const { items } = await data(client.GET("/api/v1/audit", { params: { query: { seq } }, signal }));
      if (!items[0]) throw new Problem("not-found", 404);
      return items[0];
    },
    initialData: known,
    staleTime: Number.POSITIVE_INFINITY, // an entry never changes
  });
}
