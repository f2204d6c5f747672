import type { Schemas } from "../api/client";

/** Seconds since the entitlement changed, where the figures of the last hour begin with the change; undefined where they are of the whole hour. */
export function sinceChange(now: Pick<Schemas["TenantNow"], "at" | "hour">): number | undefined {
  return now.hour.since === undefined
    ? undefined
    : Math.max(0, (Date.parse(now.at) - Date.parse(now.hour.since)) / 1000);
}
