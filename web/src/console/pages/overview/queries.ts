import { client, data, type Schemas } from "../../../api/client";

export type FabricOverview = Schemas["FabricOverview"];
export type Event = Schemas["Event"];

/** Steps back in time, in seconds, until enough events are found; the last one reaches back to the first event. */
const steps = [600, 86_400, 30 * 86_400, undefined];

/** Kinds of which a rollout has thousands; the rollout's own page lists them. */
const noise = /^(device\.state|rollout\.progress)$/;

const pageSize = 1000;

/** The latest `n` events of a fabric, newest first. The list of the service begins with the oldest, so this searches backwards in time. */
export async function latestEvents(fabric: string, latest: Event, n: number): Promise<Event[]> {
  let found: Event[] = [];
  for (const back of steps) {
    const since = back === undefined ? undefined : new Date(Date.parse(latest.at) - back * 1000).toISOString();
    found = [];
    let cursor: string | undefined;
    let full = true;
    for (let pages = 0; full && pages < 20; pages++) {
      const list = await data<Schemas["EventList"]>(
        client.GET("/api/v1/fabrics/{fabric}/events", {
          params: { path: { fabric }, query: { since, cursor, limit: pageSize } },
        }),
      );
      found = [...found, ...list.items.filter((e) => !noise.test(e.kind))].slice(-n);
      cursor = list.next_cursor;
      full = cursor !== undefined && list.items.length === pageSize;
    }
    if (found.length >= n) break;
  }
  return found.reverse();
}
