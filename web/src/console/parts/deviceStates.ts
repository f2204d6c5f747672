import type { Schemas } from "../../api/client";

/** The states of devices, those that need a person first. */
const order: Schemas["DeviceState"][] = [
  "drifted",
  "quarantined",
  "failed",
  "unreachable",
  "unsupported",
  "unknown",
  "clean-up-pending",
  "applying",
  "verifying",
  "pending",
  "rolled-back",
  "in-sync",
];

/** Compares two states by their need for a person. A state of a later release follows "unknown". */
export function byNeedOfState(a: string, b: string): number {
  const rank = (state: string) => {
    const i = (order as string[]).indexOf(state);
    return i < 0 ? order.indexOf("unknown") + 0.5 : i;
  };
  return rank(a) - rank(b);
}
