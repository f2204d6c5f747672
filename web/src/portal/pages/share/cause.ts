import type { Schemas } from "../../../api/client";

type Now = Schemas["TenantNow"];

/** Why a tenant receives what it receives. `below` is the one that the platform answers for. */
export type Cause =
  | "within"
  | "below"
  | "idle"
  | "cap"
  | "path-down"
  | "own-port"
  | "other-link"
  | "demand"
  | "not-measured"
  | "no-measurement"
  | "series-away"
  | "series-off";

/**
 * The cause by the latest measurement. While the tenant contends, it is below its share when it receives less than the bound of its
 * entitlement, or when its bad seconds just rose: what it may have is more than its entitlement while others are idle.
 */
export function causeOf(now: Now, badRose = false): Cause {
  if (now.state === undefined) {
    if (now.series === "away") return "series-away";
    return now.series === "off" ? "series-off" : "no-measurement";
  }
  if (now.state !== "contending") return now.state;
  const received = receivedOf(now);
  return badRose || (received !== undefined && received < now.objective.bound) ? "below" : "within";
}

/** Delivered over entitled; undefined where one is not known. */
export function receivedOf(now: Pick<Now, "delivered_bps" | "entitled_bps">): number | undefined {
  return partOf(now.delivered_bps, now.entitled_bps);
}

export function partOf(part: number | undefined, whole: number | undefined): number | undefined {
  return part === undefined || !whole ? undefined : part / whole;
}

/** Whether the counter of bad seconds rose between the last two values that are known. */
export function rose(counter: (number | null)[]): boolean {
  const known = counter.flatMap((v) => v ?? []);
  const [before, last] = [known.at(-2), known.at(-1)];
  return before !== undefined && last !== undefined && last > before;
}
