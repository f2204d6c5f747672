import { afterEach, expect, test, vi } from "vitest";
import { client } from "../../api/client";
import { type Event, latestEvents } from "./events";

const minute = 60_000;
const now = Date.parse("2026-11-21T12:00:00Z");
/** Events a minute apart, the oldest first; every tenth is of a tenant. */
const stored = Array.from({ length: 3000 }, (_, i) => ({
  id: i,
  kind: i % 10 === 0 ? "tenant.updated" : "device.drifted",
  subject: i % 10 === 0 ? "gold" : `host-${i % 3}`,
  at: new Date(now - (2999 - i) * minute).toISOString(),
})) as Event[];

type Query = {
  until?: string;
  subject?: string;
  order: string;
  progress: boolean;
  cursor?: string;
  limit: number;
};

/** Answers as the service: pages of the selected events, the newest first. */
function serve() {
  return vi.spyOn(client, "GET").mockImplementation((async (_path: string, init: unknown) => {
    const { query } = (init as { params: { query: Query } }).params;
    expect(query).toMatchObject({ order: "newest" });
    const all = stored
      .filter((e) => query.until === undefined || Date.parse(e.at) < Date.parse(query.until))
      .filter((e) => query.subject === undefined || e.subject === query.subject)
      .reverse();
    const start = Number(query.cursor ?? 0);
    const items = all.slice(start, start + query.limit);
    const end = start + items.length;
    return { data: { items, ...(end < all.length ? { next_cursor: String(end) } : {}) }, response: new Response() };
  }) as never);
}

afterEach(() => vi.restoreAllMocks());

const wanted = (e: Event) => e.kind === "tenant.updated";
const ids = (events: Event[]) => events.map((e) => e.id);

test("one request finds the latest events, newest first, and no more than asked for", async () => {
  const get = serve();
  expect(ids(await latestEvents("f", { to: now, most: 3, wanted }))).toEqual([2990, 2980, 2970]);
  expect(get).toHaveBeenCalledTimes(1);
  const device = await latestEvents("f", { subject: "host-1", most: 100 });
  expect(device).toHaveLength(100);
  expect(new Set(device.map((e) => e.subject))).toEqual(new Set(["host-1"]));
  expect(get).toHaveBeenCalledTimes(2);
});

test("a search for rare events ends after five requests", async () => {
  const get = serve();
  expect(await latestEvents("f", { to: now, most: 1000, wanted })).toHaveLength(100);
  expect(get).toHaveBeenCalledTimes(5);
});

test("stays in its range, ends included", async () => {
  const get = serve();
  const range = { from: now - 59 * minute, to: now - 39 * minute, most: 10, wanted };
  expect(ids(await latestEvents("f", range))).toEqual([2960, 2950, 2940]);
  expect(get).toHaveBeenCalledTimes(1);
});
