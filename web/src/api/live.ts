import type { QueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { Connection } from "./live/connection";
import { type LiveEvent, type LiveOptions, type LiveState, store } from "./live/store";
import { useSignInNeeded } from "./session";

export type { LiveEvent, LiveMode, LiveOptions, LiveReason, LiveState } from "./live/store";
export { keptEvents } from "./live/times";

let current: Connection | undefined;

/**
 * Opens the connection of this tab, in place of an earlier one, and returns the function that closes it. A hidden tab has no connection; it
 * catches up when it is shown.
 */
export function startLive(options: LiveOptions): () => void {
  current?.stop();
  store.clear();
  const mine = new Connection(options);
  current = mine;
  return () => {
    mine.stop();
    if (current === mine) current = undefined;
  };
}

/** Tries to connect at once: after a sign-in, or by a button. */
export function retryLive() {
  current?.retry();
}

/** The state of the connection. */
export function useLive(): LiveState {
  return useSyncExternalStore(store.subscribe, store.state);
}

/** The last events of the connection, oldest first, at most `keptEvents`. */
export function useRecentEvents(): readonly LiveEvent[] {
  return useSyncExternalStore(store.subscribe, store.recent);
}

/** Keeps the connection open while the component is mounted: once an application, in its frame. Without a fabric there is none. */
export function useLiveConnection(
  fabric: string | undefined,
  queryClient: QueryClient,
  onEvents?: LiveOptions["onEvents"],
) {
  const handler = useRef(onEvents);
  handler.current = onEvents;
  const signInNeeded = useSignInNeeded();
  useEffect(() => {
    if (!fabric) return undefined;
    return startLive({ fabric, queryClient, onEvents: (events, skipped) => handler.current?.(events, skipped) });
  }, [fabric, queryClient]);
  useEffect(() => {
    if (!signInNeeded) retryLive();
  }, [signInNeeded]);
}
