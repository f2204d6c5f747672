import type { Schemas } from "../../../api/client";

type Difference = Schemas["Difference"];

/** A line of a difference: one field, or neighbours of a list. Values that differ between neighbours are a range "FIRST … LAST". */
export type Line = { field: string; desired: string; observed: string; n: number };

const indexed = /^(.*?)\[(\d+)\](.*)$/;

/** Joins neighbours of a list ("cct[4]", "cct[5]") into one line, so that a table of 128 entries does not hide the rest. */
export function grouped(differences: Pick<Difference, "field" | "desired" | "observed">[]): Line[] {
  const runs = new Map<string, { first: number; last: number; list: typeof differences }[]>();
  const lines: { order: number; line: () => Line }[] = [];
  differences.forEach((d, order) => {
    const m = indexed.exec(d.field);
    if (!m) {
      lines.push({ order, line: () => ({ ...pick(d), n: 1 }) });
      return;
    }
    const [, name = "", at = "0", rest = ""] = m;
    const key = `${name}[]${rest}`;
    const index = Number(at);
    const of = runs.get(key) ?? [];
    const open = of.at(-1);
    if (open && open.last + 1 === index) {
      open.last = index;
      open.list.push(d);
      return;
    }
    const run = { first: index, last: index, list: [d] };
    runs.set(key, [...of, run]);
    lines.push({
      order,
      line: () => ({
        field: run.first === run.last ? d.field : `${name}[${run.first}..${run.last}]${rest}`,
        desired: span(run.list.map((x) => x.desired)),
        observed: span(run.list.map((x) => x.observed)),
        n: run.list.length,
      }),
    });
  });
  return lines.sort((a, b) => a.order - b.order).map((l) => l.line());
}

const pick = ({ field, desired, observed }: Pick<Difference, "field" | "desired" | "observed">) => ({
  field,
  desired,
  observed,
});

function span(values: string[]): string {
  const [first = ""] = values;
  return values.every((v) => v === first) ? first : `${first} … ${values.at(-1)}`;
}
