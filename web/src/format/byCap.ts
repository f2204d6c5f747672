/** Whether a cap determines an entitlement: both are the same rate, up to rounding. Rates are in bit/s; a cap of 0 is none. */
export function byCap(cap: number | undefined, entitled: number | undefined): boolean {
  return !!cap && entitled !== undefined && Math.abs(entitled - cap) <= cap * 1e-6;
}
