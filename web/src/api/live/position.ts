import type { LiveEvent } from "./store";
import { liveTimes } from "./times";

/** The last event that was received, or the time from which events are wanted. */
export class Position {
  /** Number of the last event. */
  id: number | undefined;
  /** Time of the newest event, in milliseconds since 1970; before the first event, the service's time when the connection began. */
  at: number | undefined;
  /** Continues a list after the last event; undefined when that came by the stream. */
  cursor: string | undefined;

  /** Reports whether an event is new, and moves behind it. Numbers start again when the service's store was restored; times do not. */
  advance(event: LiveEvent): boolean {
    const at = Date.parse(event.at);
    if (this.id !== undefined && event.id <= this.id && at <= (this.at ?? 0)) return false;
    this.id = event.id;
    this.at = Math.max(at, this.at ?? 0);
    this.cursor = undefined;
    return true;
  }

  /** Begins at the time of an answer, by the service's clock. */
  begin(response: Response) {
    const at = Date.parse(response.headers.get("Date") ?? "");
    this.at = Number.isNaN(at) ? Date.now() - liveTimes.overlap : at;
  }

  /** The query of a list that has every later event. */
  query(): { cursor: string } | { since: string } {
    if (this.cursor) return { cursor: this.cursor };
    const began = this.at !== undefined && this.id === undefined;
    return { since: new Date((this.at ?? Date.now()) - (began ? 0 : liveTimes.overlap)).toISOString() };
  }
}
