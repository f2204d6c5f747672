import type { VirtualItem } from "@tanstack/react-virtual";
import { useLayoutEffect, useState } from "react";

/** Where a scroll box stood, and the heights of the rows that were measured: without them the place of a row is an estimate. */
type Place = { offset: number; rows: VirtualItem[] };

/** The places of this tab by entry of the history and name of the table. */
const kept = new Map<string, Place>();

/** The entry of the history, which has the same key when the reader returns to it. */
const entry = () => (history.state as { __TSR_key?: string } | null)?.__TSR_key ?? location.href;

/** The place that a table had when the reader left this entry of the history. */
export function useKeptPlace(name: string): Place | undefined {
  return useState(() => kept.get(`${entry()} ${name}`))[0];
}

/** Keeps the place of a scroll box: a reader who opens a row's page and goes back finds the list where it was. `rows` reads the measured rows. */
export function useKeptScroll(
  box: HTMLElement | null,
  name: string,
  place: Place | undefined,
  rows: () => VirtualItem[],
) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows are read when the box scrolls
  useLayoutEffect(() => {
    if (!box) return;
    if (place) box.scrollTop = place.offset;
    const keep = () => void kept.set(`${entry()} ${name}`, { offset: box.scrollTop, rows: rows() });
    box.addEventListener("scroll", keep, { passive: true });
    return () => box.removeEventListener("scroll", keep);
  }, [box, name, place]);
}
