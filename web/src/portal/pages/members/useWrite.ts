import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

/**
 * Sends a write once, and keeps its problem for the form. It is no mutation of the query client: the answer of one may hold a secret,
 * and a cache would keep it.
 */
export function useWrite() {
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  async function send<T>(request: () => Promise<T>, stale: QueryKey[], then: (answer: T) => void) {
    setBusy(true);
    setProblem(undefined);
    try {
      const got = await request();
      then(got);
      await Promise.all(stale.map((queryKey) => queries.invalidateQueries({ queryKey })));
    } catch (cause) {
      setProblem(cause);
    } finally {
      setBusy(false);
    }
  }
  return { busy, problem, send };
}
