import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";

/**
 * State of a page that lives in its address: filter, sort, range, selection, open panel. `defaults` names the parameters; a
 * parameter that has its default is left out of the address. A change replaces the entry of the history, unless `push` is set.
 */
export function useUrlState<T extends Record<string, string>>(
  defaults: T,
): [T, (patch: Partial<T>, push?: boolean) => void] {
  const search = useSearch({ strict: false }) as Record<string, string | undefined>;
  const navigate = useNavigate();
  const key = JSON.stringify(defaults);
  // biome-ignore lint/correctness/useExhaustiveDependencies: defaults are compared by their text
  const state = useMemo(() => {
    const out: Record<string, string> = {};
    for (const [name, value] of Object.entries(defaults)) out[name] = search[name] ?? value;
    return out as T;
  }, [search, key]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: defaults are compared by their text
  const set = useCallback(
    (patch: Partial<T>, push = false) =>
      void navigate({
        to: ".",
        replace: !push,
        resetScroll: false,
        search: ((old: Record<string, string | undefined>) => {
          const next: Record<string, string | undefined> = { ...old };
          for (const [name, value] of Object.entries(patch)) next[name] = value === defaults[name] ? undefined : value;
          return next;
        }) as never,
      }),
    [navigate, key],
  );
  return [state, set];
}

/** Reads the query part of an address: each parameter is a text, the last one of a name counts. */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

/** Writes the query part of an address, without parameters that are undefined or empty. */
export function stringifySearch(search: Record<string, unknown>): string {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(search))
    if (value !== undefined && value !== "") out.set(name, String(value));
  const text = out.toString();
  return text ? `?${text}` : "";
}
