import { client, data, type Schemas } from "../../api/client";

export type Event = Schemas["Event"];

type Search = {
  /** Milliseconds since 1970: the latest time, and the earliest one; without `from`, all events are searched. */
  to: number;
  from?: number;
  /** Events to find, at most. */
  most: number;
  wanted: (e: Event) => boolean;
};

/** Steps back in time, in seconds, until enough events are found; the last one reaches back to the first event. */
const steps = [600, 86_400, 30 * 86_400, Number.POSITIVE_INFINITY];

const pageSize = 1000;

/** Pages that one step reads, at most. */
const mostPages = 20;

/** The latest events of a fabric of those wanted, newest first. The list of the service begins with the oldest, so this searches backwards in time. */
export async function latestEvents(fabric: string, { to, from = 0, most, wanted }: Search): Promise<Event[]> {
  let found: Event[] = [];
  for (const back of steps) {
    const start = Math.max(from, to - back * 1000);
    const since = start > 0 ? new Date(start).toISOString() : undefined;
    found = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < mostPages; pages++) {
      const list = await data<Schemas["EventList"]>(
        client.GET("/api/v1/fabrics/{fabric}/events", {
          params: { path: { fabric }, query: { since, cursor, limit: pageSize } },
        }),
      );
      const inTime = list.items.filter((e) => Date.parse(e.at) <= to);
      found = [...found, ...inTime.filter(wanted)].slice(-most);
      cursor = list.next_cursor;
      if (cursor === undefined || inTime.length < pageSize) break;
    }
    if (found.length >= most || start === from) break;
  }
  return found.reverse();
}
