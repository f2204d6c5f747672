import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { filterWords } from "./rows";

/** How long after the last key the page hears of a filter, in ms: each call is an entry of the URL. */
const settle = 200;

/** The text of the filter field, at once in the field, deferred for the rows, and settled for the page. */
export function useFilter(given: string | undefined, onFilter: ((text: string) => void) | undefined) {
  const [text, setText] = useState(given ?? "");
  const [near, setNear] = useState(false);
  const sent = useRef(given ?? "");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    // The page changed the filter by itself: a link, or the back button.
    if (given !== undefined && given !== sent.current) {
      sent.current = given;
      setText(given);
    }
  }, [given]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      sent.current = next;
      onFilter?.(next);
    }, settle);
  };
  const deferred = useDeferredValue(text);
  const words = useMemo(() => filterWords(deferred), [deferred]);
  return { text, words, change, near, onFocus: () => setNear(true) };
}
