import { useEffect, useSyncExternalStore } from "react";
import { Connection } from "./live/connection";
import { type LiveOptions, type LiveState, store } from "./live/store";

/** The state of the connection. */
export function useLive(): LiveState {
  return useSyncExternalStore(store.subscribe, store.state);
}

/** Keeps the connection of the tab open while the component is mounted: once an application, in its frame. */
export function useLiveConnection(fabric: string, queryClient: LiveOptions["queryClient"]) {
  useEffect(() => {
    const connection = new Connection({ fabric, queryClient });
    return () => connection.stop();
  }, [fabric, queryClient]);
}
