import { useState } from "react";

/** A value that the page holds (in the URL) when it gives a setter, and that the part holds itself when not. */
export function useOwn<V>(given: V, set: ((next: V) => void) | undefined): [V, (next: V) => void] {
  const [own, setOwn] = useState(given);
  return set ? [given, set] : [own, setOwn];
}
