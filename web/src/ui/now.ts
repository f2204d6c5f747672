import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function tick() {
  if (document.hidden) return; // a hidden page needs no updates
  now = Date.now();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  timer ??= setInterval(tick, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0 && timer !== undefined) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** Milliseconds since 1970 in steps of `seconds`. One timer serves the whole page. */
export function useNow(seconds: number): number {
  const step = seconds * 1000;
  return useSyncExternalStore(subscribe, () => {
    if (timer === undefined) now = Date.now();
    return Math.floor(now / step) * step;
  });
}
