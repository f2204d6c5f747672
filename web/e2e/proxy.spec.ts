import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "./harness/test";

test("passes requests and sessions on, and records answers", async ({ startProxy, page, signIn, demo }) => {
  const before = await startProxy();
  await signIn(page, "operator", before.url);
  const answer = await page.request.get(`${before.url}/api/v1/fabrics/${demo.fabric}/tenants`);
  expect(answer.status()).toBe(200);
  expect(before.search(demo.tenant.tenant as string).map((r) => r.path)).toContain(
    `/api/v1/fabrics/${demo.fabric}/tenants`,
  );
  expect(before.search(demo.operator.password)).toEqual([]);
});

test("causes faults for chosen paths, for some requests", async ({ startProxy, request }) => {
  const before = await startProxy();
  const ready = `${before.url}/api/v1/ready`;
  before.on(/ready/, { status: 429, retryAfter: 3 }, 1);
  const busy = await request.get(ready);
  expect([busy.status(), busy.headers()["retry-after"]]).toEqual([429, "3"]);
  expect((await request.get(ready)).status()).toBe(200);
  before.on(/ready/, { garbage: true });
  await expect((await request.get(ready)).json()).rejects.toThrow();
  before.on(/ready/, { drop: true });
  await expect(request.get(ready)).rejects.toThrow();
  before.heal();
  before.on(/ready/, { delay: 300 });
  const from = Date.now();
  expect((await request.get(ready)).status()).toBe(200);
  expect(Date.now() - from).toBeGreaterThanOrEqual(300);
});

test("stalls and cuts streams, and goes down and up on one address", async ({ startProxy, demo }) => {
  const before = await startProxy();
  const open = () =>
    fetch(`${before.url}/api/v1/fabrics/${demo.fabric}/events/stream?after=0`, {
      headers: { Authorization: `Bearer ${demo.token}` },
    });
  const first = async (response: Response) =>
    new TextDecoder().decode((await response.body?.getReader().read())?.value);

  expect(await first(await open())).toContain("events follow");
  const cut = await open();
  const reader = cut.body?.getReader();
  await reader?.read();
  expect(before.cutStreams()).toBeGreaterThanOrEqual(1);
  await expect(
    (async () => {
      while (!(await reader?.read())?.done);
    })(),
  ).rejects.toThrow();

  before.on(/stream/, { stall: true });
  const stalled = await open();
  expect(stalled.status).toBe(200);
  expect(await Promise.race([first(stalled), wait(500, "nothing")])).toBe("nothing");

  before.heal();
  await before.down();
  await expect(open()).rejects.toThrow();
  await before.up();
  expect(await first(await open())).toContain("events follow");
});
