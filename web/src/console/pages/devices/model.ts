import type { Schemas } from "../../../api/client";
import { byNeedOfState } from "../../parts/deviceStates";

export type Device = Schemas["Device"];

/** Devices by state, those that need a person first. */
export function byState(devices: Device[]): [state: string, n: number][] {
  const counts = new Map<string, number>();
  for (const d of devices) counts.set(d.state, (counts.get(d.state) ?? 0) + 1);
  return [...counts].sort((a, b) => byNeedOfState(a[0], b[0]));
}

/** In the order of their need for a person, then by name. */
export const byNeed = (a: Device, b: Device) =>
  byNeedOfState(a.state, b.state) || a.name.localeCompare(b.name, "en", { numeric: true });

/** Devices whose latest reading differs from the plan, in the order of their need for a person. A quarantined one may be in sync again. */
export const driftedOf = (devices: Device[]): Device[] =>
  devices.filter((d) => d.state === "drifted" || (d.state === "quarantined" && d.differences.length > 0)).sort(byNeed);

/** The later of two readings of each device: what the service stored, and what this page read. */
export function latest(stored: Device[], read: Device[] | undefined): Device[] {
  if (!read) return stored;
  const fresh = new Map(read.map((d) => [d.id, d]));
  return stored.map((d) => later(d, fresh.get(d.id)));
}

/** The later of two readings of a device. Policy and incidents are those of the stored one. */
export function later(stored: Device, read: Device | undefined): Device {
  if (!read?.read_at || (stored.read_at && stored.read_at >= read.read_at)) return stored;
  const { state, reading, differences, error, read_at, seen_at, observed, desired } = read;
  // A rollout or a quarantine says more than a single reading.
  const keeps = ["quarantined", "applying", "verifying", "pending"].includes(stored.state);
  return {
    ...stored,
    state: keeps ? stored.state : state,
    differences,
    ...(reading ? { reading } : {}),
    error,
    read_at,
    ...(seen_at ? { seen_at } : {}),
    ...(observed ? { observed } : {}),
    ...(desired ? { desired } : {}),
  };
}

/** The oldest time of a reading, of the devices that were read; undefined when none was. */
export function oldest(devices: Device[]): string | undefined {
  return devices.reduce<string | undefined>(
    (least, d) => (d.read_at && (least === undefined || d.read_at < least) ? d.read_at : least),
    undefined,
  );
}

/** Settings that a repair would write: those of the plan, and prerequisites that Fairlane may set. */
export const repairable = (d: Device) => d.differences.filter((x) => !x.prerequisite || x.repairable);
