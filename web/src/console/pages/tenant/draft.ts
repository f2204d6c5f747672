import { bpsOf, namePattern, rateText, weightOf } from "../tenants/amounts";
import { type Declared, ownOf } from "../tenants/changes";
import { expandPorts } from "../tenants/ports";
import type { FieldName } from "./declared";

/** The texts of the form. Ports are names; those of the topology stand for their GUID and number. */
export type Draft = {
  weight: string;
  guarantee: string;
  cap: string;
  pkey: string;
  classes: { name: string; weight: string }[];
  ports: string[];
};

/** The texts of a declaration. */
export function draftOf(d: Declared): Draft {
  return {
    weight: String(d.weight),
    guarantee: rateText(d.guarantee_bps),
    cap: rateText(d.cap_bps),
    pkey: d.pkey,
    classes: d.classes.map((c) => ({ name: c.name, weight: String(c.weight) })),
    ports: ownOf(d.attachments).map((a) => a.name ?? a.port),
  };
}

/** Labels of the fields, as keys of catalogues. */
export const labels: Record<keyof Draft, string> = {
  weight: "common:weight",
  guarantee: "tenants:guarantee-in",
  cap: "tenants:cap-in",
  pkey: "tenant:pkey",
  classes: "tenant:classes",
  ports: "tenant:attachments",
};

/** Mistakes by field, as keys of the catalogue of tenants. */
export type Wrong = Partial<Record<FieldName, string>>;

/** The declaration behind the texts, or what is wrong with them. Ports that stay keep their service level. */
export function parsed(f: Draft, original: Declared): { declared: Declared | undefined; wrong: Wrong } {
  const wrong: Wrong = {};
  const [weight, guarantee, cap] = [weightOf(f.weight), bpsOf(f.guarantee), bpsOf(f.cap)];
  const ports = expandPorts(f.ports);
  const classes = f.classes.map((c) => ({ name: c.name.trim(), weight: weightOf(c.weight) }));
  if (weight === undefined) wrong.weight = "wrong-weight";
  if (guarantee === undefined) wrong.guarantee_bps = "wrong-rate";
  if (cap === undefined) wrong.cap_bps = "wrong-rate";
  else if (cap > 0 && guarantee !== undefined && cap < guarantee) wrong.cap_bps = "wrong-cap";
  if (!/^0x[0-9a-f]{1,4}$/i.test(f.pkey.trim())) wrong.pkey = "wrong-pkey";
  if (classes.some((c) => !namePattern.test(c.name) || c.weight === undefined)) wrong.classes = "wrong-class";
  if (new Set(classes.map((c) => c.name)).size < classes.length) wrong.classes = "wrong-class-twice";
  if (ports === undefined) wrong.attachments = "ports-set-wrong";
  if (Object.keys(wrong).length > 0) return { declared: undefined, wrong };
  const known = new Map(
    original.attachments
      .map(({ port, name, sl }) => ({ port, name, sl }))
      .flatMap((a) => [[a.port, a] as const, [a.name ?? a.port, a] as const]),
  );
  return {
    wrong,
    declared: {
      weight: weight ?? original.weight,
      guarantee_bps: guarantee ?? 0,
      cap_bps: cap ?? 0,
      pkey: f.pkey.trim(),
      classes: classes.map((c) => ({ name: c.name, weight: c.weight ?? 1 })),
      attachments: (ports ?? []).map((p) => known.get(p) ?? { port: p }),
    },
  };
}
