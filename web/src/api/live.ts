import { useEffect, useRef, useSyncExternalStore } from "react";
import { Connection } from "./live/connection";
import { type LiveEvent, type LiveOptions, type LiveState, store } from "./live/store";

export type { LiveEvent, LiveMode, LiveOptions, LiveReason, LiveState } from "./live/store";
export { keptEvents } from "./live/times";

let current: Connection | undefined;

/** An open connection. `retry` tries the stream at once: a sign-in and a network that is back do so by themselves. */
export type Live = { stop: () => void; retry: () => void };

/**
 * Opens the connection of this tab, in place of an earlier one. A hidden tab has no connection; it catches up when it is shown.
 */
export function startLive(options: LiveOptions): Live {
  current?.stop();
  store.clear();
  const mine = new Connection(options);
  current = mine;
  return { stop: () => mine.stop(), retry: mine.retry };
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
  queryClient: LiveOptions["queryClient"],
  onEvents?: LiveOptions["onEvents"],
) {
  const handler = useRef(onEvents);
  handler.current = onEvents;
  useEffect(() => {
    if (!fabric) return undefined;
    return startLive({ fabric, queryClient, onEvents: (events, skipped) => handler.current?.(events, skipped) }).stop;
  }, [fabric, queryClient]);
}
