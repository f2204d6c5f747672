import { useState } from "react";
import { asProblem } from "../../ui/ProblemNote";
import { type Merged, merge } from "./merge";

/** A version of an object, as the form shows it. */
type Version<T> = { value: T; etag: string };

/** What a form met on its save: a newer version, merged with the form, and the side that the reader chose by field. */
export type Meeting<T> = Merged<T> & {
  theirs: T;
  mine: T;
  chosen: Partial<Record<keyof T, "theirs" | "mine">>;
  choose: (field: keyof T & string, side: "theirs" | "mine") => void;
};

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/**
 * A form over one version of an object. When a save is refused for a newer version, `read` gives that version and the form
 * becomes the merge of both: nothing is lost on either side, and the next save is for the newer version.
 */
export function useMergedForm<T extends object>(given: Version<T>, read: () => Promise<Version<T>>) {
  const [seen, setSeen] = useState(given.etag);
  const [base, setBase] = useState(given);
  const [form, setForm] = useState(given.value);
  const [met, setMet] = useState<Merged<T> & { theirs: T; mine: T }>();
  const [chosen, setChosen] = useState<Meeting<T>["chosen"]>({});
  const changed = !same(form, base.value);
  const restart = (version: Version<T>) => {
    setBase(version);
    setForm(version.value);
    setMet(undefined);
  };
  if (given.etag !== seen) {
    setSeen(given.etag);
    if (!changed) restart(given); // a form with changes meets the newer version on its save
  }
  /** Saves the form with the ETag of its version; undefined when that is not the latest one. */
  const save = async <R>(send: (etag: string) => Promise<R>): Promise<R | undefined> => {
    try {
      return await send(base.etag);
    } catch (problem) {
      if (asProblem(problem).status !== 412) throw problem;
      const newer = await read();
      const merged = merge(base.value, newer.value, form);
      setMet({ ...merged, theirs: newer.value, mine: form });
      setChosen({});
      setForm(merged.merged);
      setBase(newer);
      return undefined;
    }
  };
  const meeting: Meeting<T> | undefined = met && {
    ...met,
    chosen,
    choose: (field, side) => {
      setChosen({ ...chosen, [field]: side });
      setForm({ ...form, [field]: met[side][field] });
    },
  };
  return { form, setForm, base: base.value, changed, met: meeting, save, restart };
}
