import { useState } from "react";
import { asProblem } from "../../ui/ProblemNote";
import { type Merged, merge } from "./merge";

type Version<T> = { value: T; etag: string };

/**
 * A form over one version of an object. After a refusal for a newer version, `meet` merges that version into the form:
 * nothing is lost on either side, and the next save is for the newer version.
 */
export function useMergedForm<T extends object>(first: Version<T>) {
  const [base, setBase] = useState(first);
  const [form, setForm] = useState(first.value);
  const [met, setMet] = useState<Merged<T> & { theirs: T; mine: T }>();
  const [chosen, setChosen] = useState<Record<string, "theirs" | "mine">>({});
  const meet = (newer: Version<T>) => {
    const merged = merge(base.value, newer.value, form);
    setMet({ ...merged, theirs: newer.value, mine: form });
    setChosen({});
    setForm(merged.merged);
    setBase(newer);
  };
  const choose = (field: string, side: "theirs" | "mine") => {
    if (!met) return;
    setChosen({ ...chosen, [field]: side });
    setForm({ ...form, [field]: met[side][field as keyof T] });
  };
  return { form, setForm, base, met, meet, chosen, choose };
}

/** Whether a write was refused since the object has a newer version. */
export const isConflict = (problem: unknown) => problem !== undefined && asProblem(problem).status === 412;
