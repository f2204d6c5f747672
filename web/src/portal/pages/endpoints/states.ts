import type { Schemas } from "../../../api/client";

export type Endpoint = Schemas["Endpoint"];

/** All pages of a tenant's endpoints, with the state of the series behind the measured figures. */
export type EndpointPages = { items: Endpoint[]; series: Schemas["SeriesState"] };

/** The ports that a page shows, at most. */
const most = 10_000;

/** Reads every page; one page without the whole series makes the whole incomplete. */
export async function readEndpoints(
  page: (cursor: string | undefined) => Promise<Schemas["EndpointList"]>,
): Promise<EndpointPages> {
  const out: EndpointPages = { items: [], series: "read" };
  for (let cursor: string | undefined; ; ) {
    const next = await page(cursor);
    out.items.push(...next.items);
    if (next.series !== "read") out.series = next.series;
    cursor = next.next_cursor;
    if (!cursor || out.items.length >= most) return out;
  }
}

/** How many ports there are in each state; `bad` are those that are not up. Without ports, none is. */
export function statesOf(list: Endpoint[]) {
  const count = (state: Endpoint["state"]) => list.filter((e) => e.state === state).length;
  const [down, unknown] = [count("down"), count("unknown")];
  return { n: list.length, down, unknown, bad: list.length === 0 ? 1 : down + unknown };
}

/** The rate of the ports whose links are up, in bits per second; undefined without one. */
export function rateOf(list: Endpoint[]): number | undefined {
  const sum = list.reduce((n, e) => n + (e.state === "up" ? (e.rate_bps ?? 0) : 0), 0);
  return sum > 0 ? sum : undefined;
}
