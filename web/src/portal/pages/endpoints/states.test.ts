import { expect, test } from "vitest";
import type { Schemas } from "../../../api/client";
import { type Endpoint, rateOf, readEndpoints, statesOf } from "./states";

const port = (n: number, state: Endpoint["state"]): Endpoint => ({ port: `0x1:${n}`, state, classes: [] });

test("ports are counted by state, and no port is not a port that is up", () => {
  expect(statesOf([port(1, "up"), port(2, "down"), port(3, "unknown"), port(4, "up")])).toEqual({
    n: 4,
    down: 1,
    unknown: 1,
    bad: 2,
  });
  expect(statesOf([port(1, "up")]).bad).toBe(0);
  expect(statesOf([]).bad).toBe(1);
});

test("all pages are read, and one incomplete page makes the list incomplete", async () => {
  const pages: Record<string, Schemas["EndpointList"]> = {
    "": { items: [port(1, "up")], series: "read", next_cursor: "c.1" },
    "c.1": { items: [port(2, "down")], series: "partial", next_cursor: "c.2" },
    "c.2": { items: [port(3, "up")], series: "read" },
  };
  const got = await readEndpoints(async (cursor) => pages[cursor ?? ""] as Schemas["EndpointList"]);
  expect(got.items.map((e) => e.port)).toEqual(["0x1:1", "0x1:2", "0x1:3"]);
  expect(got.series).toBe("partial");
});

test("the rate of the ports is that of links that are up", () => {
  expect(
    rateOf([
      { ...port(1, "up"), rate_bps: 100 },
      { ...port(2, "up"), rate_bps: 50 },
      { ...port(3, "down"), rate_bps: 7 },
    ]),
  ).toBe(150);
  expect(rateOf([port(1, "up")])).toBeUndefined();
});
