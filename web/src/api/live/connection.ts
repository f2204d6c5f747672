import { client, data } from "../client";
import { keys } from "../keys";
import { retryAfterOf } from "../problem";
import { onSignedIn, signedOut } from "../session";
import { Broken, broken, brokenBy } from "./broken";
import { Position } from "./position";
import { ServerSentParser } from "./sse";
import { Staleness, staleKeys } from "./stale";
import { type LiveEvent, type LiveMode, type LiveOptions, type LiveReason, store } from "./store";
import { attempts, backOff, liveTimes } from "./times";

/**
 * The one connection of a tab; a hidden tab has none, since browsers open at most six to a service over HTTP/1.1. `run` is its
 * only loop: at any time it streams, polls, or waits.
 */
export class Connection {
  private readonly position = new Position();
  private readonly stale: Staleness;
  private readonly random: () => number;
  private over = false;
  private failures = 0;
  private pollFailures = 0;
  private streamAt = 0; // time of the next attempt while polling
  private missed = false; // there were attempts before the position was known
  private request: AbortController | undefined;
  private wake: (() => void) | undefined;
  private readonly forgetSignIn: () => void;

  constructor(private readonly options: LiveOptions) {
    this.stale = new Staleness(options.queryClient);
    this.random = options.random ?? Math.random;
    document.addEventListener("visibilitychange", this.turn);
    addEventListener("online", this.retry);
    this.forgetSignIn = onSignedIn(this.retry);
    this.set("reconnecting", "starting");
    void this.run();
  }

  stop() {
    if (this.over) return;
    this.set("stopped");
    this.over = true;
    document.removeEventListener("visibilitychange", this.turn);
    removeEventListener("online", this.retry);
    this.forgetSignIn();
    this.turn();
    this.stale.close();
  }

  /** Tries the stream at once, unless it is open. */
  readonly retry = () => {
    if (store.state().mode === "live" || store.state().mode === "paused" || this.over) return;
    this.failures = 0;
    this.wake?.();
  };

  /** Ends the present attempt or wait, so that the loop decides again what to do. */
  private readonly turn = () => {
    this.failures = 0;
    this.request?.abort();
    this.wake?.();
  };

  private set(mode: LiveMode, reason?: LiveReason) {
    const last = store.state();
    if (this.over || (last.mode === mode && last.reason === reason)) return;
    const first = reason === "starting"; // what an earlier connection left says nothing about this one
    store.setState({ mode, reason, lastAnswerAt: first ? undefined : last.lastAnswerAt });
  }

  private answered() {
    const now = new Date();
    if (this.over) return;
    if (now.getTime() - (store.state().lastAnswerAt?.getTime() ?? 0) >= 1000)
      store.setState({ ...store.state(), lastAnswerAt: now });
  }

  private sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private async run() {
    while (!this.over) {
      if (document.visibilityState === "hidden") {
        this.stale.flush();
        this.set("paused");
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      } else if (this.failures < attempts || Date.now() >= this.streamAt) await this.tryStream();
      else await this.tryPoll();
    }
  }

  /** Runs an attempt: returns why it failed, or whether it is done or `turn` ended it. */
  private async attempt(work: (request: AbortController) => Promise<void>): Promise<Broken | "done" | "turned"> {
    const request = new AbortController();
    this.request = request;
    try {
      await work(request);
      return request.signal.aborted ? "turned" : "done";
    } catch (cause) {
      const reason: unknown = request.signal.reason;
      if (request.signal.aborted && !(reason instanceof Broken)) return "turned";
      return broken(reason ?? cause);
    } finally {
      request.abort();
      this.request = undefined;
    }
  }

  /** Ends all attempts until `retry`, when a reason is final. */
  private async refused(why: Broken) {
    if (why.reason === "signed-out") signedOut();
    this.set("stopped", why.reason);
    await new Promise<void>((resolve) => {
      this.wake = resolve;
    });
  }

  private async tryStream() {
    const trial = this.failures >= attempts;
    const lived = { from: 0, to: 0 };
    const why = await this.attempt((request) =>
      this.stream(request, trial ? liveTimes.trial : liveTimes.silence, lived),
    );
    if (!(why instanceof Broken)) return;
    if (why.final) return this.refused(why);
    this.missed = true;
    this.failures = lived.to - lived.from >= liveTimes.stable ? 0 : this.failures + 1;
    this.streamAt = Date.now() + Math.max(liveTimes.streamAgain, why.retryAfter);
    if (store.state().mode !== "polling") this.set("reconnecting", why.reason);
    if (this.failures < attempts)
      await this.sleep(Math.max(backOff(Math.max(this.failures, 1), this.random), why.retryAfter));
  }

  /** Reads the stream until it breaks, and throws the reason. `lived` gets the times of the first and last bytes. */
  private async stream(request: AbortController, silence: number, lived: { from: number; to: number }) {
    const aborted = new Promise<never>((_resolve, reject) =>
      request.signal.addEventListener("abort", () => reject(request.signal.reason)),
    );
    aborted.catch(() => undefined); // after the last race
    let timer = setTimeout(() => request.abort(new Broken("silent")), liveTimes.open);
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    try {
      const response = await Promise.race([this.openStream(request.signal), aborted]);
      reader = response.body?.getReader();
      const parser = new ServerSentParser();
      for (;;) {
        const chunk = await Promise.race([reader?.read(), aborted]);
        if (!chunk || chunk.done) throw new Broken("ended");
        clearTimeout(timer);
        timer = setTimeout(() => request.abort(new Broken("silent")), silence);
        lived.to = Date.now();
        if (lived.from === 0) {
          lived.from = lived.to;
          await this.opened(response, request.signal);
        }
        this.answered();
        for (const { data } of parser.push(chunk.value)) this.take(JSON.parse(data) as LiveEvent);
      }
    } finally {
      clearTimeout(timer);
      reader?.cancel().catch(() => undefined);
    }
  }

  private async openStream(signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.position.id !== undefined) headers["Last-Event-ID"] = String(this.position.id);
    const url = `/api/v1/fabrics/${encodeURIComponent(this.options.fabric)}/events/stream`;
    const response = await fetch(url, { headers, signal, cache: "no-store", credentials: "same-origin" });
    if (response.ok && response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response;
    void response.body?.cancel().catch(() => undefined);
    throw brokenBy(response.status, retryAfterOf(response));
  }

  /** Called when the stream follows new events. Without a last event the stream could not resume: a list fills the gap. */
  private async opened(response: Response, signal: AbortSignal) {
    const { position } = this;
    if (position.at === undefined) {
      position.begin(response);
      if (this.missed) this.addEverything();
    } else if (position.id === undefined) await this.list(signal);
    this.set("live");
  }

  private async tryPoll() {
    const why = await this.attempt(async (request) => {
      const timer = setTimeout(() => request.abort(new Broken("silent")), liveTimes.open);
      await this.list(request.signal).finally(() => clearTimeout(timer));
    });
    if (why === "turned") return;
    if (why === "done") return this.polled();
    if (why.final) return this.refused(why);
    this.set("reconnecting", why.reason);
    this.pollFailures++;
    await this.sleep(Math.max(backOff(this.pollFailures + 2, this.random), why.retryAfter));
  }

  private async polled() {
    const back = this.pollFailures > 0; // the service itself was down, not the stream alone
    this.pollFailures = 0;
    this.set("polling", store.state().reason);
    if (back) this.streamAt = 0;
    else await this.sleep(Math.min(liveTimes.poll, Math.max(this.streamAt - Date.now(), 0)));
  }

  /** Reads all events after the position. The first list only finds the position. */
  private async list(signal: AbortSignal) {
    const first = this.position.at === undefined;
    for (let more = true; more; ) {
      const got = client.GET("/api/v1/fabrics/{fabric}/events", {
        params: { path: { fabric: this.options.fabric }, query: { ...this.position.query(), limit: 1000 } },
        signal,
      });
      const page = await data(got);
      this.answered();
      for (const event of page.items) this.take(event, first);
      if (page.items.length > 0) this.position.cursor = page.last_cursor;
      more = page.next_cursor !== undefined;
      if (first && !more && this.position.at === undefined) this.position.begin((await got).response);
    }
    if (first) this.addEverything();
  }

  private take(event: LiveEvent, quietly = false) {
    if (this.position.advance(event) && !quietly) this.stale.add(staleKeys(event));
  }

  /** Marks the whole fabric as stale: events may have been missed before the position was known. */
  private addEverything() {
    this.stale.add([keys.everything(this.options.fabric)]);
  }
}
