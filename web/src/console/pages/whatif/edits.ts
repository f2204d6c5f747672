/** The kinds of edits, as `fairlane plan what-if --edit` takes them. */
export const kinds = ["weight", "guarantee", "cap", "flows", "flow", "add", "remove", "fail"] as const;
export type EditKind = (typeof kinds)[number];

/** The fields of each kind: a tenant or a port, the sign before the value, and an example of the value. */
export const asks: Record<
  EditKind,
  { subject: "tenant" | "new-tenant" | "port"; between: string; value: string | undefined }
> = {
  weight: { subject: "tenant", between: "=", value: "8" },
  guarantee: { subject: "tenant", between: "=", value: "10Gbit/s" },
  cap: { subject: "tenant", between: "=", value: "25Gbit/s" },
  flows: { subject: "tenant", between: "*", value: "4" },
  flow: { subject: "tenant", between: "=", value: "host1>host2*8@5Gbit/s" },
  add: { subject: "new-tenant", between: "=", value: "3@host1,host2" },
  remove: { subject: "tenant", between: "", value: undefined },
  fail: { subject: "port", between: "", value: undefined },
};

/** An edit as text: "weight:gold=8". */
export function editText(kind: EditKind, subject: string, value: string): string {
  const ask = asks[kind];
  return `${kind}:${subject.trim()}${ask.value === undefined ? "" : `${ask.between}${value.trim()}`}`;
}

/** Edits of a text, one a line; empty lines do not count. */
export function parseEdits(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
