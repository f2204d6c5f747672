import { useEffect, useLayoutEffect, useMemo, useState } from "react";
import type { Column } from "./types";

/** The minor columns that a table leaves out so that it fits into its box, and the others. `all` keeps every column. */
export function useFolded<T>(box: HTMLElement | null, columns: Column<T>[], all: boolean) {
  const [count, setCount] = useState(0);
  const minor = useMemo(() => columns.filter((c) => c.minor), [columns]);
  useEffect(() => {
    if (!box) return;
    let width = box.offsetWidth;
    const observer = new ResizeObserver(() => {
      if (box.offsetWidth === width) return;
      width = box.offsetWidth;
      setCount(0);
    });
    observer.observe(box);
    return () => observer.disconnect();
  }, [box]);
  // After every render, since new values may be wider. One column a render, before the browser paints.
  useLayoutEffect(() => {
    if (box && !all && count < minor.length && box.scrollWidth > box.clientWidth) setCount(count + 1);
  });
  return useMemo(() => {
    const folded = all ? [] : minor.slice(Math.max(0, minor.length - count));
    return { folded, kept: folded.length ? columns.filter((c) => !folded.includes(c)) : columns };
  }, [all, minor, count, columns]);
}
