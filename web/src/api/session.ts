import { useSyncExternalStore } from "react";

/**
 * The value of the readable cookie of a session, which the service compares with a header of every write; undefined without a
 * session. A session whose cookie is there may have ended.
 */
export function csrfToken(): string | undefined {
  return /(?:^|;\s*)fairlane_csrf=([^;]*)/.exec(globalThis.document?.cookie ?? "")?.[1];
}

let needed = csrfToken() === undefined;
const listeners = new Set<() => void>();

function set(next: boolean) {
  if (needed === next) return;
  needed = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Called when the service refused the session: the sign-in opens over the page. */
export const signedOut = () => set(true);

/** Called after a sign-in. */
export const signedIn = () => set(false);

/** Calls a function after each sign-in, until the function that is returned is called. */
export function onSignedIn(listener: () => void): () => void {
  return subscribe(() => {
    if (!needed) listener();
  });
}

/** Whether the reader must sign in, first or again. */
export function useSignInNeeded(): boolean {
  return useSyncExternalStore(subscribe, () => needed);
}
