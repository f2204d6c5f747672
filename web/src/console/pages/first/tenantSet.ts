import type { Schemas } from "../../../api/client";

export type TenantSet = Schemas["TenantSet"];

/** Bytes of a declaration at most: the service's limit for complete tables. */
export const mostBytes = 8 << 20;

/** Reads a declaration of tenants as JSON: an object with `tenants` and perhaps `flows`, or the list of tenants alone. */
export function readTenantSet(text: string): { set: TenantSet } | { wrong: "json" | "shape" } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { wrong: "json" };
  }
  if (Array.isArray(value)) return { set: { tenants: value as TenantSet["tenants"] } };
  if (typeof value === "object" && value !== null && "tenants" in value && Array.isArray(value.tenants)) {
    const { tenants, flows } = value as TenantSet;
    return { set: flows === undefined ? { tenants } : { tenants, flows } };
  }
  return { wrong: "shape" };
}
