import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useWrite } from "../../../ui/useWrite";

/** A write of a form: after it, `then` gets the answer, and what the cache has under the keys `stale` is read again. */
export function useSend() {
  const queries = useQueryClient();
  const { busy, problem, run } = useWrite();
  const send = <T>(request: () => Promise<T>, stale: QueryKey[], then: (answer: T) => void) =>
    run(async () => {
      then(await request());
      await Promise.all(stale.map((queryKey) => queries.invalidateQueries({ queryKey })));
    });
  return { busy, problem, send };
}
