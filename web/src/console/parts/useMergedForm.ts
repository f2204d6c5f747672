import { useState } from "react";
import { asProblem } from "../../ui/ProblemNote";
import { merge, same } from "./merge";

type Version<B> = { body: B; etag: string };
type Field<T> = keyof T & string;
type Side = "theirs" | "mine";

/** A newer version that was merged into a form. */
export type Newer<T> = {
  /** The version with which both sides began, the newer one, and the form before the merge. */
  base: T;
  theirs: T;
  mine: T;
  /** Fields that both sides changed, and the side chosen for each so far. */
  conflicts: Field<T>[];
  chosen: Partial<Record<Field<T>, Side>>;
  /** Fields that only the other side changed: the form now holds their values. */
  taken: Field<T>[];
};

/** `seen` is the entity tag of the latest version that was read. */
type State<B, T> = { seen: string; base: Version<B>; form: T; newer?: Newer<T> };

/**
 * A form over one version of an object. A write that is refused for a newer version merges that version into the form by field: no change of
 * either side is lost, and the next write is for the newer version. While `open` is not 0, conflicts have no choice: save nothing. When `read`
 * has a newer version, a form without changes shows it; one with changes keeps them until its write.
 */
export function useMergedForm<B, T extends object>(read: Version<B>, formOf: (body: B) => T) {
  const [{ seen, base, form, newer }, setState] = useState<State<B, T>>(() => ({
    seen: read.etag,
    base: read,
    form: formOf(read.body),
  }));
  const original = formOf(base.body);
  const changed = !same(form, original);
  /** Begins again with a version, such as the one that a write returned. */
  const restart = (version: Version<B>) => setState({ seen: read.etag, base: version, form: formOf(version.body) });
  if (read.etag !== seen) {
    if (changed) setState((s) => ({ ...s, seen: read.etag }));
    else restart(read);
  }
  const setForm = (next: T) => setState((s) => ({ ...s, form: next }));
  /** Writes with the entity tag of the form's version. After a refusal for a newer version it reads and merges that, and returns undefined. */
  const send = async <R>(
    write: (etag: string) => Promise<R>,
    readAgain: () => Promise<Version<B>>,
  ): Promise<R | undefined> => {
    try {
      return await write(base.etag);
    } catch (problem) {
      if (asProblem(problem).status !== 412) throw problem;
      const latest = await readAgain();
      setState((s) => {
        const [before, theirs] = [formOf(s.base.body), formOf(latest.body)];
        const { merged, conflicts, taken } = merge(before, theirs, s.form);
        return {
          ...s,
          base: latest,
          form: merged,
          newer: { base: before, theirs, mine: s.form, conflicts, chosen: {}, taken },
        };
      });
      return undefined;
    }
  };
  const choose = (field: Field<T>, side: Side) =>
    setState((s) =>
      s.newer
        ? {
            ...s,
            form: { ...s.form, [field]: s.newer[side][field] },
            newer: { ...s.newer, chosen: { ...s.newer.chosen, [field]: side } },
          }
        : s,
    );
  const open = newer ? newer.conflicts.filter((f) => !newer.chosen[f]).length : 0;
  return { form, setForm, changed, base, original, send, restart, newer, choose, open };
}

export type MergedForm<B, T extends object> = ReturnType<typeof useMergedForm<B, T>>;
