import type { QueryKey } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Connection } from "./live/connection";
import { Staleness } from "./live/stale";
import { type LiveEvent, store } from "./live/store";
import { backOff, liveTimes } from "./live/times";
import { signedIn } from "./session";

const began = new Date("2026-11-27T10:00:00Z");
const encoder = new TextEncoder();

/** An event that makes the key of tenant tID stale. */
const event = (id: number, kind = "tenant.updated", subject = `t${id}`): LiveEvent => ({
  id,
  at: new Date(began.getTime() + id).toISOString(),
  fabric: "lab",
  actor: "ada",
  kind,
  subject,
  message: "",
});

/** A stream of the service that the test feeds. */
class FakeStream {
  private control!: ReadableStreamDefaultController<Uint8Array>;
  readonly body = new ReadableStream<Uint8Array>({
    start: (control) => {
      this.control = control;
    },
  });

  constructor(
    readonly lastEventID: string | null,
    private readonly missed: LiveEvent[],
  ) {}

  text(s: string) {
    this.control.enqueue(encoder.encode(s));
    return vi.advanceTimersByTimeAsync(0);
  }

  async begin() {
    await this.text(": events follow\n\n");
    await this.send(...this.missed);
  }

  beat = () => this.text(": still here\n\n");
  send = (...events: LiveEvent[]) =>
    this.text(events.map((e) => `id: ${e.id}\nevent: ${e.kind}\ndata: ${JSON.stringify(e)}\n\n`).join(""));

  end() {
    this.control.close();
    return vi.advanceTimersByTimeAsync(0);
  }
}

/** The service: streams and lists of events, or failures in their place. */
class FakeService {
  streams: FakeStream[] = [];
  attemptedAt: number[] = [];
  lists: URL[] = [];
  events: LiveEvent[] = [];
  streamFails: (() => Response | Promise<Response>) | undefined;
  listFails: (() => Response) | undefined;

  fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : String(input), "http://localhost");
    if (!url.pathname.endsWith("/stream")) return this.list(url);
    this.attemptedAt.push(Date.now());
    if (this.streamFails) return this.streamFails();
    const stream = this.open(new Headers(init?.headers).get("Last-Event-ID"));
    this.streams.push(stream);
    return new Response(stream.body, {
      headers: { "Content-Type": "text/event-stream", Date: new Date().toUTCString() },
    });
  };

  private open(last: string | null): FakeStream {
    return new FakeStream(last, last === null ? [] : this.events.filter((e) => e.id > Number(last)));
  }

  private list(url: URL): Response {
    this.lists.push(url);
    if (this.listFails) return this.listFails();
    const after = Number(url.searchParams.get("cursor")?.slice(2) ?? 0);
    const since = Date.parse(url.searchParams.get("since") ?? "1970-01-01T00:00:00Z");
    const items = this.events.filter((e) => e.id > after && Date.parse(e.at) >= since);
    return Response.json(
      { items, last_cursor: `c.${items.at(-1)?.id ?? after}` },
      { headers: { Date: new Date().toUTCString() } },
    );
  }

  get stream(): FakeStream {
    return this.streams.at(-1) as FakeStream;
  }
}

let service: FakeService;
let taken: QueryKey[];
let stale: QueryKey[];
let live: Connection;
let visibility: DocumentVisibilityState;

const start = () => {
  live = new Connection({
    fabric: "lab",
    queryClient: { invalidateQueries: async (filters) => void stale.push(filters?.queryKey as QueryKey) },
    random: () => 0,
  });
  return vi.advanceTimersByTimeAsync(0);
};
const idsIn = (list: QueryKey[]) =>
  list.flatMap((k) => (k[2] === "tenant" && k.length === 4 ? [Number(String(k[3]).slice(1))] : []));
/** The events that were taken, in order and with duplicates. */
const ids = () => idsIn(taken);
const frame = () => vi.advanceTimersByTimeAsync(20);
const show = (to: DocumentVisibilityState) => {
  visibility = to;
  document.dispatchEvent(new Event("visibilitychange"));
  return vi.advanceTimersByTimeAsync(0);
};
const unreachable = () => Promise.reject<Response>(new TypeError("fetch failed"));

beforeEach(() => {
  vi.useFakeTimers({ now: began });
  visibility = "visible";
  vi.spyOn(document, "visibilityState", "get").mockImplementation(() => visibility);
  service = new FakeService();
  vi.stubGlobal("fetch", service.fetch);
  [taken, stale] = [[], []];
  const add = Staleness.prototype.add;
  vi.spyOn(Staleness.prototype, "add").mockImplementation(function (this: Staleness, list) {
    taken.push(...list);
    add.call(this, list);
  });
});

afterEach(() => {
  live.stop();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("marks the keys of a burst in one frame, in order, and each once", async () => {
  await start();
  expect(store.state()).toMatchObject({ mode: "reconnecting", reason: "starting" });
  await service.stream.begin();
  expect(store.state().mode).toBe("live");
  await service.stream.send(event(1), event(2));
  await service.stream.send(event(3, "device.state", "leaf1"));
  expect(stale).toHaveLength(0);
  await frame();
  expect(idsIn(stale)).toEqual([1, 2]);
  const texts = stale.map((k) => JSON.stringify(k));
  expect(texts).toContain('["fabric","lab","overview"]');
  expect(texts).toContain('["fabric","lab","device","leaf1"]');
  expect(texts).not.toContain('["fabric","lab"]');
  expect(new Set(texts).size).toBe(texts.length);
});

test("marks a key at most once a second, and once more after a burst", async () => {
  await start();
  await service.stream.begin();
  for (let i = 1; i <= 100; i++) {
    await service.stream.send(event(i));
    await frame();
  }
  await vi.advanceTimersByTimeAsync(2000);
  const overview = stale.filter((k) => k[2] === "overview").length;
  expect(overview).toBeGreaterThanOrEqual(3);
  expect(overview).toBeLessThanOrEqual(4);
  expect(idsIn(stale)).toHaveLength(100);
});

test("resumes after the last event, without loss or duplicate", async () => {
  await start();
  await service.stream.begin();
  expect(service.stream.lastEventID).toBeNull();
  await service.stream.send(event(7));
  await service.stream.end();
  expect(store.state()).toMatchObject({ mode: "reconnecting", reason: "ended" });
  await vi.advanceTimersByTimeAsync(1000);
  expect(service.stream.lastEventID).toBe("7");
  await service.stream.begin();
  await service.stream.send(event(7), event(8));
  await frame();
  expect(ids()).toEqual([7, 8]);
  expect(store.state().mode).toBe("live");
});

test("fills the gap from a list when the stream ended before its first event", async () => {
  await start();
  await service.stream.begin();
  await service.stream.end();
  service.events = [event(3)];
  await vi.advanceTimersByTimeAsync(1000);
  await service.stream.begin();
  await service.stream.send(event(3), event(4));
  await frame();
  expect(ids()).toEqual([3, 4]);
});

test("accepts lower numbers of a restored store", async () => {
  await start();
  await service.stream.begin();
  await service.stream.send(event(900));
  await service.stream.send({ ...event(5), at: "2026-11-27T11:00:00Z" });
  await frame();
  expect(ids()).toEqual([900, 5]);
});

test("treats silence as a broken stream; comments keep it", async () => {
  await start();
  await service.stream.begin();
  for (let i = 0; i < 10; i++) {
    await vi.advanceTimersByTimeAsync(15_000);
    await service.stream.beat();
  }
  expect(store.state().mode).toBe("live");
  const last = Date.now();
  await vi.advanceTimersByTimeAsync(liveTimes.silence);
  expect(store.state()).toMatchObject({ mode: "reconnecting", reason: "silent" });
  expect(store.state().lastAnswerAt?.getTime()).toBe(last);
  await vi.advanceTimersByTimeAsync(1000);
  await service.stream.begin();
  expect(store.state().mode).toBe("live");
  expect(store.state().reason).toBeUndefined();
});

test("a proxy that holds the stream back is noticed after 10 seconds", async () => {
  await start();
  await vi.advanceTimersByTimeAsync(liveTimes.open);
  expect(store.state()).toMatchObject({ mode: "reconnecting", reason: "silent" });
});

test("polls after two failed attempts, and tries the stream again each minute", async () => {
  service.streamFails = () => new Response("<html>", { headers: { "Content-Type": "text/html" } });
  service.events = [event(1)];
  await start();
  await vi.advanceTimersByTimeAsync(1000);
  expect(service.attemptedAt).toHaveLength(2);
  expect(store.state()).toMatchObject({ mode: "polling", reason: "garbled" });
  await frame();
  expect(stale).toEqual([["fabric", "lab"]]); // the position was not known before
  service.events.push(event(2), event(3));
  await vi.advanceTimersByTimeAsync(5000);
  expect(ids()).toEqual([2, 3]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(ids()).toEqual([2, 3]);
  expect(service.lists.length).toBeGreaterThanOrEqual(5);
  expect(service.attemptedAt).toHaveLength(2);
  service.streamFails = undefined;
  await vi.advanceTimersByTimeAsync(35_000);
  expect(service.stream.lastEventID).toBe("3");
  await service.stream.begin();
  expect(store.state().mode).toBe("live");
  await service.stream.send(event(4));
  await frame();
  expect(ids()).toEqual([2, 3, 4]);
});

test("finds out by itself when the service is back", async () => {
  await start();
  await service.stream.begin();
  await service.stream.send(event(1));
  service.streamFails = unreachable;
  service.listFails = () => {
    throw new TypeError("fetch failed");
  };
  const lost = Date.now();
  await service.stream.end();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(store.state()).toMatchObject({ mode: "reconnecting" });
  expect(store.state().lastAnswerAt?.getTime()).toBe(lost);
  [service.streamFails, service.listFails] = [undefined, undefined];
  service.events = [event(1), event(2)];
  await vi.advanceTimersByTimeAsync(31_000);
  await service.stream.begin();
  await frame();
  expect(store.state().mode).toBe("live");
  expect(ids()).toEqual([1, 2]);
});

test("a hidden tab closes the stream and catches up when it is shown", async () => {
  await start();
  await service.stream.begin();
  await service.stream.send(event(1));
  await show("hidden");
  expect(store.state().mode).toBe("paused");
  expect(idsIn(stale)).toEqual([1]); // a hidden tab has no frames
  await vi.advanceTimersByTimeAsync(600_000);
  expect(service.attemptedAt).toHaveLength(1);
  await show("visible");
  expect(service.stream.lastEventID).toBe("1");
  await service.stream.begin();
  await service.stream.send(event(2));
  await frame();
  expect(store.state().mode).toBe("live");
  expect(ids()).toEqual([1, 2]);
});

test.each([
  [401, "signed-out"],
  [403, "refused"],
  [404, "gone"],
])("stops after %d until a sign-in, or until the network is back", async (status, reason) => {
  service.streamFails = () => Response.json({ code: "x", title: "x" }, { status });
  await start();
  expect(store.state()).toMatchObject({ mode: "stopped", reason });
  await vi.advanceTimersByTimeAsync(600_000);
  expect(service.attemptedAt).toHaveLength(1);
  service.streamFails = undefined;
  if (status === 401) signedIn();
  else dispatchEvent(new Event("online"));
  await vi.advanceTimersByTimeAsync(0);
  await service.stream.begin();
  expect(store.state().mode).toBe("live");
});

test("waits as long as the service asks for", async () => {
  service.streamFails = () => new Response(null, { status: 429, headers: { "Retry-After": "20" } });
  await start();
  await vi.advanceTimersByTimeAsync(19_000);
  expect(service.attemptedAt).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(service.attemptedAt).toHaveLength(2);
});

test("a closed connection makes no requests", async () => {
  await start();
  await service.stream.begin();
  live.stop();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(store.state().mode).toBe("stopped");
  expect(service.attemptedAt).toHaveLength(1);
  expect(service.lists).toHaveLength(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("back-off doubles from 1 s to 30 s, of which at most half is left out", () => {
  for (let n = 1; n < 20; n++) {
    const longest = Math.min(1000 * 2 ** (n - 1), 30_000);
    expect(backOff(n, () => 0)).toBe(longest);
    expect(backOff(n, () => 0.999)).toBeGreaterThan(longest / 2);
  }
});
