import { client, data, type Schemas } from "../../api/client";

export type Event = Schemas["Event"];

type Search = {
  /** Milliseconds since 1970, both included: the latest and the earliest time. */
  to?: number;
  from?: number;
  /** Events to find, at most. */
  most: number;
  /** Only events about the object of this name. */
  subject?: string;
  /** Only events whose kind begins so. */
  kind?: string;
  /** Whether the steps of rollouts are searched too, of which there are several for each device. */
  progress?: boolean;
  wanted?: (e: Event) => boolean;
};

/** Requests of one search, at most: with a filter of the page's own, older events are left out. */
const mostPages = 5;

/** The latest events of a fabric of those wanted, newest first. */
export async function latestEvents(fabric: string, search: Search): Promise<Event[]> {
  const { to, from = 0, most, wanted = () => true, progress = false, ...filter } = search;
  const until = to === undefined ? undefined : new Date(to + 1).toISOString();
  const limit = search.wanted ? 200 : most;
  const found: Event[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const list = await data<Schemas["EventList"]>(
      client.GET("/api/v1/fabrics/{fabric}/events", {
        params: { path: { fabric }, query: { ...filter, until, progress, order: "newest", limit, cursor } },
      }),
    );
    for (const e of list.items) {
      if (Date.parse(e.at) < from) return found;
      if (wanted(e)) found.push(e);
      if (found.length === most) return found;
    }
    cursor = list.next_cursor;
    if (cursor === undefined) break;
  }
  return found;
}
