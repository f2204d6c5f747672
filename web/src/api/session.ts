import { useSyncExternalStore } from "react";

type State = { needed: boolean };

/** Whether the browser holds the readable cookie of a session; the session itself may have ended. */
const held = () => /(?:^|;\s*)fairlane_csrf=/.test(globalThis.document?.cookie ?? "");

let state: State = { needed: !held() };
const listeners = new Set<() => void>();

function set(needed: boolean) {
  if (state.needed === needed) return;
  state = { needed };
  for (const listener of listeners) listener();
}

/** Called when the service refused the session: the sign-in opens over the page. */
export const signedOut = () => set(true);

/** Called after a sign-in. */
export const signedIn = () => set(false);

/** Calls a function after each sign-in, until the function that is returned is called. */
export function onSignedIn(listener: () => void): () => void {
  const changed = () => {
    if (!state.needed) listener();
  };
  listeners.add(changed);
  return () => listeners.delete(changed);
}

/** Whether the reader must sign in, first or again. */
export function useSignInNeeded(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state.needed,
  );
}
