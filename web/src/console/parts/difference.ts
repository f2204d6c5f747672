import type { Schemas } from "../../api/client";
import { gain } from "./shares";

type Difference = Schemas["PlanDifference"];
type Setting = Schemas["SettingChange"];

/** What a difference amounts to. */
type Totals = {
  /** Settings that change, over all places. */
  settings: number;
  /** Devices whose settings change, at least; exact when `exact`. */
  devices: number;
  exact: boolean;
  gains: string[];
  loses: string[];
  /** Tenants that only the later plan has, and only the earlier one. */
  comes: string[];
  goes: string[];
  empty: boolean;
};

/** Changes of settings of the whole difference, those of tenants first. */
export function settingChanges(d: Difference): Setting[] {
  return [
    ...(d.tenants ?? []).flatMap((x) => (x.settings ?? []).map((s) => ({ ...s, tenant: s.tenant ?? x.tenant }))),
    ...(d.settings ?? []),
  ];
}

/** The device of a place: a part of a switch belongs to the switch; links and the plan are no devices. */
export function deviceOf(kind: string, name: string): string | undefined {
  switch (kind) {
    case "link":
    case "plan":
      return undefined;
    case "switch port":
    case "queue":
      return name.replace(/\/P\d+( queue \d+)?$/, "");
    default:
      return name;
  }
}

/** Counts of a difference, for its sentence and for the button that sends it. */
export function totals(d: Difference): Totals {
  const changes = settingChanges(d);
  const devices = new Set<string>();
  let most = 0;
  let complete = true;
  for (const c of changes) {
    for (const name of c.names) {
      const device = deviceOf(c.kind, name);
      if (device) devices.add(device);
    }
    if (c.names.length < c.count) complete = false;
    if (c.kind === "port" || c.kind === "switch") most = Math.max(most, c.count);
  }
  const lists = (d.devices ?? []).flatMap((x) => [x.added, x.removed]).filter((l) => l !== undefined);
  for (const l of lists) {
    for (const name of l.names) devices.add(name);
    if (l.names.length < l.count) complete = false;
  }
  const tenants = d.tenants ?? [];
  const both = tenants.filter((x) => x.before && x.after);
  return {
    settings: changes.reduce((n, c) => n + c.count, 0),
    devices: Math.max(devices.size, most),
    exact: complete,
    gains: both.filter((x) => gain(x) > 0).map((x) => x.tenant),
    loses: both.filter((x) => gain(x) < 0).map((x) => x.tenant),
    comes: tenants.filter((x) => !x.before && x.after).map((x) => x.tenant),
    goes: tenants.filter((x) => x.before && !x.after).map((x) => x.tenant),
    empty: Object.keys(d).every((k) => k === "from" || k === "to"),
  };
}

/** Settings by the kind of their places, the most places first. */
export function byKind(changes: Setting[]): [kind: string, changes: Setting[]][] {
  const kinds = new Map<string, Setting[]>();
  for (const c of changes) kinds.set(c.kind, [...(kinds.get(c.kind) ?? []), c]);
  const size = (list: Setting[]) => list.reduce((n, c) => n + c.count, 0);
  return [...kinds].sort((a, b) => size(b[1]) - size(a[1]));
}

/** A value of a setting as the service writes it: one value, or a range "LEAST to LARGEST". */
export function rangeOf(value: string): { low: string; high: string } | undefined {
  const m = /^(-?[\d.]+) to (-?[\d.]+)$/.exec(value);
  return m?.[1] && m[2] ? { low: m[1], high: m[2] } : undefined;
}
