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

/** The same changes as edits of a what-if. */
export function bulkEdits(changes: BulkChange[]): string[] {
  return changes.flatMap((c) => (c.after === undefined ? [] : [`weight:${c.tenant.name}=${c.after}`]));
}
