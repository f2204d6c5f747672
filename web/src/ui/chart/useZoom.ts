import { useRef, useState } from "react";
import type { TimeRange } from "./types";

const same = (a: TimeRange, b: TimeRange) => a.from === b.from && a.to === b.to;

/** The range of a chart. `reset` ends a zoom: it restores the range that the page last chose by itself. */
export function useZoom(given: TimeRange, onRange: ((from: number, to: number) => void) | undefined) {
  const [own, setOwn] = useState<TimeRange>();
  const home = useRef(given);
  const asked = useRef<TimeRange>(undefined);
  if (!asked.current || !same(given, asked.current)) {
    home.current = given;
    asked.current = undefined;
  }
  const range = onRange ? given : (own ?? given);
  const change = (next: TimeRange) => {
    asked.current = next;
    if (onRange) onRange(next.from, next.to);
    else setOwn(next);
  };
  const reset = () => {
    if (onRange) onRange(home.current.from, home.current.to);
    setOwn(undefined);
  };
  return { range, change, reset, changed: !same(range, home.current) };
}
