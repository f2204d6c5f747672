import type { QueryClient } from "@tanstack/react-query";
import type { Schemas } from "../client";

export type LiveEvent = Schemas["Event"];

/**
 * How a tab learns of events: `live` by the stream; `polling` by requests, because the stream failed; `reconnecting` not at present;
 * `paused` while the tab is hidden; `stopped` when no connection is wanted or the service refused it.
 */
export type LiveMode = "live" | "polling" | "reconnecting" | "stopped" | "paused";

/**
 * Why the mode is not `live`. `starting`: the first attempt. `unreachable`: no connection. `silent`: connected, but no byte arrives.
 * `ended`: the service or a proxy ended the stream. `busy`, `failing`: answers 429 or 503, and other errors. `garbled`: an answer that is no stream.
 * `signed-out`, `refused`, `gone`: answers 401, 403 and 404, which end the attempts.
 */
export type LiveReason =
  | "starting"
  | "unreachable"
  | "silent"
  | "ended"
  | "busy"
  | "failing"
  | "garbled"
  | "signed-out"
  | "refused"
  | "gone";

export type LiveState = {
  mode: LiveMode;
  /** Last byte or answer from the service, to a second; undefined before the first. */
  lastAnswerAt: Date | undefined;
  reason?: LiveReason;
};

export type LiveOptions = {
  fabric: string;
  queryClient: Pick<QueryClient, "invalidateQueries">;
  /** Random number from 0 to 1, for tests. */
  random?: () => number;
};

let state: LiveState = { mode: "stopped", lastAnswerAt: undefined };
const listeners = new Set<() => void>();

/** What the connection publishes to components. */
export const store = {
  state: () => state,
  subscribe(listener: () => void) {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  },
  setState(next: LiveState) {
    state = next;
    for (const listener of listeners) listener();
  },
};
