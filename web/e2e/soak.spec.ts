import type { IncomingMessage, ServerResponse } from "node:http";
import type { CDPSession } from "@playwright/test";
import { expect, ready, test } from "./harness/test";

/** Updates of eight hours, one a second. */
const updates = Number(process.env.SOAK_UPDATES ?? 28_800);

/** Updates a second: at least 20 times as many as in operation. */
const rate = Number(process.env.SOAK_RATE ?? 40);

/** How much the heap may grow after the first tenth, in bytes. */
const growth = 10_000_000;

/** Kinds that concern the overview, and the devices and links that it counts. */
const kinds = [
  "tenant.updated",
  "rollout.progress",
  "device.state",
  "shares.measured",
  "fabric.link-down",
  "fabric.link-up",
  "plan.created",
];

/** Number of the first played event, above those of the demo. */
const first = 1_000_000;

/** Plays events in place of the service's stream: up to the number `upTo`, then comments. A resumed stream continues after its last event. */
class Player {
  sent = 0;
  upTo = 0;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly fabric: string) {}

  answer = (request: IncomingMessage, response: ServerResponse) => {
    clearInterval(this.timer);
    const resumed = Number(request.headers["last-event-id"] ?? Number.NaN);
    if (resumed >= first && resumed <= first + this.sent) this.sent = resumed - first; // after a break
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write(": events follow\n\n");
    this.timer = setInterval(() => {
      if (this.sent >= this.upTo) response.write(": still here\n\n");
      for (let n = 0; n < rate / 10 && this.sent < this.upTo; n++) response.write(this.next());
    }, 100);
    response.on("close", () => clearInterval(this.timer));
  };

  private next(): string {
    const id = first + ++this.sent;
    const kind = kinds[id % kinds.length];
    const event = {
      id,
      at: new Date().toISOString(),
      fabric: this.fabric,
      actor: "soak",
      kind,
      subject: "gold",
      message: `update ${id}`,
      data: { n: id },
    };
    return `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify(event)}\n\n`;
  }
}

/** Bytes in use after a garbage collection. */
async function heap(session: CDPSession): Promise<number> {
  for (let n = 0; n < 3; n++) await session.send("HeapProfiler.collectGarbage");
  return (await session.send("Runtime.getHeapUsage")).usedSize;
}

test("a tab that stays open for a working day keeps its size @soak", async ({
  page,
  startProxy,
  signIn,
  demo,
  guards,
}) => {
  const proxy = await startProxy();
  proxy.record = false;
  const player = new Player(demo.fabric);
  proxy.on(/\/events\/stream/, { answer: player.answer });
  await signIn(page, "operator", proxy.url);
  await page.goto(`${proxy.url}/console/f/${demo.fabric}/overview`);
  await ready(page);
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.enable");

  const play = async (upTo: number) => {
    player.upTo = upTo;
    await expect.poll(() => player.sent, { timeout: (updates / rate) * 3000 + 60_000, intervals: [1000] }).toBe(upTo);
    await page.waitForTimeout(2000); // the last batch, and the requests that it causes
  };
  await play(Math.round(updates / 10));
  const early = await heap(session);
  await play(updates);
  const late = await heap(session);
  test.info().annotations.push({
    type: "heap",
    description: `${(early / 1e6).toFixed(1)} MB after 10 %, ${(late / 1e6).toFixed(1)} MB after ${updates} updates`,
  });
  expect(late - early, `heap grew from ${early} to ${late} bytes`).toBeLessThan(growth);
  await ready(page);
  expect(guards.violations()).toEqual([]);
});
