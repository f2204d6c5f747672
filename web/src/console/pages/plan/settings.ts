import type { Schemas } from "../../../api/client";
import type { Plan } from "../../parts/plans";

type Explanation = Schemas["Explanation"];

/** Devices that a plan sets alike. */
export type SettingGroup = {
  key: string;
  kind: string;
  /** Names of the devices, in the order of the service. */
  names: string[];
  tenants: string[];
  reasons: Schemas["Reason"][];
  /** Number of settings that a limit of the device or of the range cut. */
  clamped: number;
};

/** Joins explanations of devices with the same settings for the same reasons. */
export function groupSettings(items: Explanation[]): SettingGroup[] {
  const groups = new Map<string, SettingGroup>();
  for (const e of items) {
    const key = JSON.stringify([e.kind, e.note, e.reasons]);
    const old = groups.get(key);
    if (old) {
      old.names.push(e.name);
      continue;
    }
    groups.set(key, {
      key: `${e.kind} ${e.name}`,
      kind: e.kind,
      names: [e.name],
      tenants: [...new Set(e.reasons.flatMap((r) => r.tenant ?? []))].sort(),
      reasons: e.reasons,
      clamped: e.reasons.filter((r) => r.clamped).length,
    });
  }
  return [...groups.values()];
}

/** The settings of a plan by device, as texts that can be compared: ports by GUID:PORT, switches by GUID. */
function settingsOf(plan: Plan): { ports: Map<string, string>; switches: Map<string, string> } {
  return {
    ports: new Map(plan.cas.map((c) => [c.port, JSON.stringify(c.settings)])),
    switches: new Map(plan.switches.map((s) => [s.node, JSON.stringify(s.settings)])),
  };
}

const differing = (before: Map<string, string>, after: Map<string, string>): string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter((k) => before.get(k) !== after.get(k));

/** Ports and switches whose settings differ between two plans of the plane ib; undefined on other planes, whose settings the plan holds elsewhere. */
export function changedDevices(before: Plan | undefined, after: Plan): { ports: number; switches: number } | undefined {
  if (after.plane !== "ib" || (before && before.plane !== "ib")) return undefined;
  const old = before ? settingsOf(before) : { ports: new Map(), switches: new Map() };
  const now = settingsOf(after);
  return { ports: differing(old.ports, now.ports).length, switches: differing(old.switches, now.switches).length };
}
