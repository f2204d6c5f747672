import type { QueryClient, QueryKey } from "@tanstack/react-query";
import type { Schemas } from "../client";
import { keys } from "../keys";

type Event = Pick<Schemas["Event"], "fabric" | "kind" | "subject"> & Partial<Pick<Schemas["Event"], "rollout">>;

type Rule = (fabric: string, subject: string, rollout: number | undefined) => QueryKey[];

/** What depends on the settings that are in force on devices. */
const inForce: Rule = (f) => [
  keys.overview(f),
  keys.shares(f),
  keys.now(f),
  keys.map(f),
  keys.matrix(f),
  keys.path(f),
  keys.links(f),
];

/** What depends on the nodes and links of the fabric. */
const topology: Rule = (f) => [
  ...[
    keys.fabrics(),
    keys.fabric(f),
    keys.overview(f),
    keys.map(f),
    keys.matrix(f),
    keys.path(f),
    keys.links(f),
    keys.tiers(f),
  ],
  ...[keys.topology(f), keys.snapshots(f), keys.devices(f), keys.device(f)],
];

const whole: Rule = (f) => [keys.fabrics(), keys.everything(f)];

const tenant: Rule = (f, name) => [
  ...[
    keys.tenants(f),
    keys.tenant(f, name),
    keys.now(f, name),
    keys.endpoints(f, name),
    keys.overview(f),
    keys.policies(f),
    keys.shares(f),
    keys.search(),
  ],
];

const rollout: Rule = (f, _subject, id) => [
  keys.rollouts(f),
  keys.rollout(f, ...(id === undefined ? [] : [id])),
  keys.overview(f),
];

const rolloutEnded: Rule = (f, subject, id) => [
  ...[...rollout(f, subject, id), ...inForce(f, subject, id), keys.fabrics(), keys.fabric(f), keys.baseline(f)],
  ...[keys.plans(f), keys.plan(f), keys.devices(f), keys.device(f), keys.tenants(f), keys.tenant(f)],
];

const device: Rule = (f, name) => [
  keys.devices(f),
  keys.device(f),
  keys.tenant(f),
  keys.overview(f),
  keys.map(f),
  keys.baseline(f, name),
];

const accounts: Rule = (f) => [keys.serviceAccounts(), keys.tokens(), keys.members(f)];

/** Rules by kind; of several that begin a kind, the longest applies. */
const rules: Record<string, Rule> = {
  "fabric.": topology, // discoveries, links, nodes, ports, routes, warnings
  "fabric.created": whole,
  "fabric.updated": whole,
  "fabric.deleted": whole,
  "fabric.managed": whole,
  "fabric.released": whole,
  "fabric.silent": (f) => [keys.fabrics(), keys.fabric(f), keys.overview(f), keys.map(f)],
  "fabric.answers": (f) => [keys.fabrics(), keys.fabric(f), keys.overview(f), keys.map(f)],
  "fabric.repairs-wait": (f) => [
    keys.fabric(f),
    keys.overview(f),
    keys.driftPolicy(f),
    keys.devices(f),
    keys.device(f),
  ],
  "fabric.drift-policy": (f) => [keys.driftPolicy(f), keys.devices(f), keys.device(f)],
  "fabric.maintenance": (f) => [keys.maintenance(f)],
  "tenant.maintenance": (f) => [keys.maintenance(f)],
  "fabric.objective": (f) => [keys.objectives(f), keys.overview(f)],
  "fabric.member": (f) => [keys.members(f), keys.users(), keys.me()],
  "tenant.": tenant,
  "tenant.deleted": (f, name, id) => [
    ...tenant(f, name, id),
    keys.objectives(f),
    keys.members(f, name),
    keys.serviceAccounts(),
  ],
  "tenant.objective": (f, name) => [
    keys.objectives(f),
    keys.tenants(f),
    keys.tenant(f, name),
    keys.now(f, name),
    keys.overview(f),
  ],
  "tenant.member": (f, name) => [keys.members(f, name), keys.users(), keys.me()],
  "tenant.service-account.": accounts,
  "tenant.token.": accounts,
  "service-account.": accounts,
  "token.": accounts,
  "flows.": (f) => [keys.tenants(f), keys.policies(f), keys.tenant(f), keys.overview(f)],
  "options.": (f) => [keys.options(f), keys.policies(f), keys.overview(f)],
  "policy.labelled": (f, revision) => [keys.policies(f), keys.policy(f, Number(revision))],
  "policy.restored": (f) => [
    ...[keys.policies(f), keys.policy(f), keys.tenants(f), keys.tenant(f), keys.now(f), keys.options(f)],
    ...[keys.objectives(f), keys.overview(f), keys.search()],
  ],
  "plan.": (f, name) => [keys.plans(f), keys.plan(f, name), keys.overview(f)],
  "rollout.": rolloutEnded, // rollout.STATE, and the requests of operators
  "rollout.progress": rollout,
  "rollout.confirming": rollout,
  "rollout.taken-over": rollout,
  "device.": device,
  // One of thousands of a rollout: lists of rollouts and tenants do not change with it.
  "device.state": (f, name, id) => [
    keys.rollout(f, ...(id === undefined ? [] : [id])),
    keys.devices(f),
    keys.device(f, name),
  ],
  "shares.": (f, subject, id) => [...inForce(f, subject, id), keys.tenants(f)],
  "simulation.": () => [keys.simulations()],
  "calibration.": () => [keys.calibrations()],
  "silence.": (f) => [keys.silences(), keys.alerts(), keys.overview(f)],
  "settings.": () => [keys.settings()],
  "user.": () => [keys.users(), keys.me()],
  "session.": () => [keys.me()],
};

const prefixes = Object.keys(rules).sort((a, b) => b.length - a.length);

/**
 * The keys of the answers that an event makes stale, as prefixes. Every event is in the list of events and may be in the audit log. An unknown
 * kind, of a later release, concerns everything of its fabric.
 */
export function staleKeys(event: Event): QueryKey[] {
  const rule = rules[prefixes.find((prefix) => event.kind.startsWith(prefix)) ?? ""] ?? whole;
  return [...rule(event.fabric, event.subject, event.rollout), keys.events(event.fabric), keys.audit()];
}

/** Milliseconds between two invalidations of the same key: a burst of events must not abort and repeat a request each frame. */
const invalidationGap = 1000;

/** Marks keys as stale: all of a frame together, and a key again at the earliest after `invalidationGap`. */
export class Staleness {
  private readonly last = new Map<string, number>();
  private readonly due = new Map<string, QueryKey>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private frame: number | undefined;

  constructor(private readonly cache: Pick<QueryClient, "invalidateQueries">) {}

  add(list: Iterable<QueryKey>) {
    for (const key of list) this.due.set(JSON.stringify(key), key);
    this.frame ??= requestAnimationFrame(() => this.flush());
  }

  /** Marks the keys that still wait at once, whenever they were last marked. */
  close() {
    this.last.clear();
    this.flush();
  }

  /** Does what the next frame would do: a hidden tab has no frames. */
  flush() {
    clearTimeout(this.timer);
    if (this.frame !== undefined) cancelAnimationFrame(this.frame);
    this.frame = undefined;
    const now = Date.now();
    for (const [text, at] of this.last) if (now - at >= invalidationGap) this.last.delete(text);
    let wait = Number.POSITIVE_INFINITY;
    for (const [text, key] of this.due) {
      const at = this.last.get(text);
      if (at !== undefined) {
        wait = Math.min(wait, at + invalidationGap - now);
        continue;
      }
      this.due.delete(text);
      this.last.set(text, now);
      void this.cache.invalidateQueries({ queryKey: key });
    }
    if (this.due.size > 0) this.timer = setTimeout(() => this.flush(), wait);
  }
}
