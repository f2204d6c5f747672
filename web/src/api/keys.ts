/** Further parts of a key: the parameters of the request, such as a name or an object of filters. */
type Rest = readonly unknown[];

/** Keys of what belongs to a fabric: ["fabric", FABRIC, PART, …]. */
const of =
  <Part extends string>(part: Part) =>
  (fabric: string, ...rest: Rest) =>
    ["fabric", fabric, part, ...rest] as const;

/** Keys of what belongs to the installation: [PART, …]. */
const global =
  <Part extends string>(part: Part) =>
  (...rest: Rest) =>
    [part, ...rest] as const;

/**
 * The keys of the query cache. Every query uses one, so that an event of the stream can mark the answers that it concerns as stale. A key
 * without its last parts is the prefix of all keys with them: `keys.tenant("lab")` covers every tenant of fabric lab.
 */
export const keys = {
  fabrics: global("fabrics"),
  /** Everything of a fabric. */
  everything: (fabric: string) => ["fabric", fabric] as const,
  fabric: of("fabric"),
  overview: of("overview"),
  map: of("map"),
  matrix: of("matrix"),
  path: of("path"),
  tiers: of("tiers"),
  links: of("links"),
  topology: of("topology"),
  snapshots: of("snapshots"),
  tenants: of("tenants"),
  /** (fabric, tenant, …) */
  tenant: of("tenant"),
  /** (fabric, tenant, …): what a tenant receives now. */
  now: of("now"),
  /** (fabric, tenant, …): the ports of a tenant with their state. */
  endpoints: of("endpoints"),
  objectives: of("objectives"),
  options: of("options"),
  policies: of("policies"),
  /** (fabric, revision, …) */
  policy: of("policy"),
  plans: of("plans"),
  /** (fabric, plan, …) */
  plan: of("plan"),
  rollouts: of("rollouts"),
  /** (fabric, rollout, …) */
  rollout: of("rollout"),
  devices: of("devices"),
  /** (fabric, device, …) */
  device: of("device"),
  driftPolicy: of("drift-policy"),
  baseline: of("baseline"),
  shares: of("shares"),
  events: of("events"),
  /** (fabric, …) of a fabric, (fabric, tenant, …) of a tenant. */
  members: of("members"),
  /** Global: service accounts of every tenant have one list. */
  serviceAccounts: global("service-accounts"),
  tokens: global("tokens"),
  me: global("me"),
  signIn: global("sign-in"),
  users: global("users"),
  roles: global("roles"),
  audit: global("audit"),
  simulations: global("simulations"),
  calibrations: global("calibrations"),
  /** (fabric, …) of a fabric, (fabric, tenant, …): what a tenant sees. */
  maintenance: of("maintenance"),
  silences: global("silences"),
  alerts: global("alerts"),
  settings: global("settings"),
  version: global("version"),
  doctor: global("doctor"),
  search: global("search"),
  /** (query, …) of the time-series database. Events do not make it stale: pages read it again at their interval. */
  series: global("series"),
};
