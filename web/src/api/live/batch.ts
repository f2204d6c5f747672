import type { QueryKey } from "@tanstack/react-query";
import { keys } from "../keys";
import { Staleness, staleKeys } from "./stale";
import { type LiveEvent, type LiveOptions, store } from "./store";
import { keptEvents } from "./times";

/** Collects events and delivers them once a frame. */
export class Batch {
  private pending: LiveEvent[] = [];
  private skipped = 0;
  private readonly stale = new Map<string, QueryKey>();
  private readonly staleness: Staleness;
  private frame: number | undefined;

  constructor(private readonly options: LiveOptions) {
    this.staleness = new Staleness(options.queryClient);
  }

  add(event: LiveEvent) {
    if (this.pending.push(event) > keptEvents) {
      this.pending.shift();
      this.skipped++;
    }
    for (const key of staleKeys(event)) this.stale.set(JSON.stringify(key), key);
    this.frame ??= requestAnimationFrame(() => this.deliver());
  }

  /** Marks the whole fabric as stale: events may have been missed before the position was known. */
  addEverything() {
    this.staleness.add([keys.everything(this.options.fabric)]);
  }

  deliver() {
    if (this.frame !== undefined) cancelAnimationFrame(this.frame); // a hidden tab has no frames
    this.frame = undefined;
    const { pending, skipped } = this;
    if (pending.length === 0) return;
    this.pending = [];
    this.skipped = 0;
    this.staleness.add(this.stale.values());
    this.stale.clear();
    store.add(pending);
    this.options.onEvents?.(pending, skipped);
  }

  close() {
    this.deliver();
    this.staleness.close();
  }
}
