import { afterEach, expect, test, vi } from "vitest";
import { client } from "../../api/client";
import { type Event, latestEvents } from "./events";

const minute = 60_000;
const now = Date.parse("2026-11-21T12:00:00Z");
/** Events a minute apart, the oldest first; every tenth is of a tenant. */
const stored = Array.from({ length: 3000 }, (_, i) => ({
  id: i,
  kind: i % 10 === 0 ? "tenant.updated" : "device.state",
  at: new Date(now - (2999 - i) * minute).toISOString(),
})) as Event[];

/** Answers as the service: pages of the events since a time, the oldest first. */
function serve() {
  return vi.spyOn(client, "GET").mockImplementation((async (_path: string, init: unknown) => {
    const { query } = (init as { params: { query: { since?: string; cursor?: string; limit: number } } }).params;
    const all = stored.filter((e) => query.since === undefined || Date.parse(e.at) >= Date.parse(query.since));
    const start = Number(query.cursor ?? 0);
    const items = all.slice(start, start + query.limit);
    const end = start + items.length;
    return { data: { items, ...(end < all.length ? { next_cursor: String(end) } : {}) }, response: new Response() };
  }) as never);
}

afterEach(() => vi.restoreAllMocks());

const wanted = (e: Event) => e.kind === "tenant.updated";
const ids = (events: Event[]) => events.map((e) => e.id);

test("finds the latest events, newest first, in as few requests as suffice", async () => {
  const get = serve();
  expect(ids(await latestEvents("f", { to: now, most: 1, wanted }))).toEqual([2990]);
  expect(get).toHaveBeenCalledTimes(1); // ten minutes
  expect(ids(await latestEvents("f", { to: now, most: 3, wanted }))).toEqual([2990, 2980, 2970]);
});

test("reads every page of a step, and ends with the first event", async () => {
  serve();
  expect(await latestEvents("f", { to: now, most: 1000, wanted })).toHaveLength(300);
});

test("stays in its range", async () => {
  serve();
  const range = { from: now - 60 * minute, to: now - 30 * minute, most: 10, wanted };
  expect(ids(await latestEvents("f", range))).toEqual([2960, 2950, 2940]);
});
