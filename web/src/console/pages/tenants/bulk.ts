import { scaledWeight } from "./amounts";
import type { Tenant } from "./queries";

/** What happens to the weights of several tenants. */
export type BulkRule = { mode: "set" | "multiply"; by: number };

/** A tenant's weight before and after; `after` is undefined where the result is no valid weight. */
export type BulkChange = { tenant: Tenant; after: number | undefined };

/** The changes of a rule. Tenants whose weight stays are left out. */
export function bulkChanges(tenants: Tenant[], rule: BulkRule): BulkChange[] {
  return tenants
    .map((tenant) => ({ tenant, after: scaledWeight(rule.mode === "set" ? 1 : tenant.weight, rule.by) }))
    .filter((c) => c.after !== c.tenant.weight);
}

/** A change that can be saved. */
export type ValidChange = BulkChange & { after: number };

export const isValid = (c: BulkChange): c is ValidChange => c.after !== undefined;

/** Changes as edits of a what-if. */
export const bulkEdits = (changes: ValidChange[]): string[] => changes.map((c) => `weight:${c.tenant.name}=${c.after}`);
