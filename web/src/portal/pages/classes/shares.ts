import type { Schemas } from "../../../api/client";

export type Class = Schemas["Class"];

/** A class with its part of the tenant's entitlement, by weight. `bps` is undefined where the entitlement is not known. */
export type ClassShare = Class & { share: number; bps: number | undefined };

/** The parts of the classes: weight over the sum of the weights. */
export function sharesOf(classes: Class[], entitled: number | undefined): ClassShare[] {
  const sum = classes.reduce((a, c) => a + c.weight, 0);
  return classes.map((c) => {
    const share = sum > 0 ? c.weight / sum : 0;
    return { ...c, share, bps: entitled === undefined ? undefined : entitled * share };
  });
}

/** The weight of a field: 0.001 to 1,000,000 with at most three decimals; undefined for anything else. */
export function weightOf(text: string): number | undefined {
  if (!/^\d{1,7}([.]\d{1,3})?$/.test(text.trim())) return undefined;
  const n = Number(text);
  return n >= 0.001 && n <= 1_000_000 ? n : undefined;
}
