import { useState } from "react";
import { useSay } from "../i18n/say";
import { asProblem, fieldErrors } from "./ProblemNote";

/**
 * A write whose request or answer may hold a secret: nothing of it stays in a cache, as the variables and results of a
 * mutation do. `run` returns undefined after a failure, which is then in `problem`.
 */
export function useWrite() {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const run = async <T>(work: () => Promise<T>): Promise<{ done: T } | undefined> => {
    setBusy(true);
    setProblem(undefined);
    try {
      return { done: await work() };
    } catch (cause) {
      setProblem(cause);
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, run, clear: () => setProblem(undefined) };
}

/** What the service found wrong, in words, by the JSON pointer of the field. */
export function useFieldTexts(problem: unknown): Map<string, string> {
  const say = useSay();
  return new Map(problem ? fieldErrors(asProblem(problem)).map((e) => [e.pointer, say(e.said, e.detail)]) : []);
}
