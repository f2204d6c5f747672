/** Two versions of an object, merged by field. */
export type Merged<T> = {
  /** Each field of the one side that changed it; where both did, mine. */
  merged: T;
  /** Fields that both changed, to different values: a person chooses. */
  conflicts: (keyof T & string)[];
  /** Fields that only the other side changed. */
  taken: (keyof T & string)[];
};

/** A value as text. Lists are sets: the order of ports, classes and roles has no meaning. */
const text = (v: unknown) => JSON.stringify(Array.isArray(v) ? v.map((x) => JSON.stringify(x)).sort() : v);
export const same = (a: unknown, b: unknown) => text(a) === text(b);

/** Merges two changes of one object: `base` is what both began with. */
export function merge<T extends object>(base: T, theirs: T, mine: T): Merged<T> {
  const out: Merged<T> = { merged: { ...mine }, conflicts: [], taken: [] };
  for (const field of Object.keys(mine) as (keyof T & string)[]) {
    if (same(base[field], theirs[field]) || same(theirs[field], mine[field])) continue;
    if (same(base[field], mine[field])) {
      out.merged[field] = theirs[field];
      out.taken.push(field);
    } else out.conflicts.push(field);
  }
  return out;
}
