import type { Demo } from "./service";

/** A page by the name of its screenshots. */
export type Place = { name: string; path: string };

/** Every route of the console, with objects of the demo. */
export async function consolePlaces(demo: Demo): Promise<Place[]> {
  const base = `/console/f/${demo.fabric}`;
  const { items: devices } = await demo.api<{ items: { id: string }[] }>("GET", `/fabrics/${demo.fabric}/devices`);
  const { plan } = await demo.api<{ plan?: { name: string } }>("GET", `/fabrics/${demo.fabric}/overview`);
  const ofFabric = {
    overview: "overview",
    map: "map",
    tenants: "tenants",
    tenant: "tenants/gold",
    policy: "policies",
    plans: "plans",
    plan: `plans/${plan?.name}`,
    rollouts: "rollouts",
    rollout: "rollouts/2",
    devices: "devices",
    device: `devices/${encodeURIComponent(devices[0]?.id ?? "")}`,
    "what-if": `what-if?edits=${encodeURIComponent("weight:gold=8")}`,
    alerts: "alerts?tenant=gold",
  };
  return [
    ...Object.entries(ofFabric).map(([name, path]) => ({ name, path: `${base}/${path}` })),
    ...["audit", "people", "settings"].map((name) => ({ name, path: `/console/${name}` })),
  ];
}

/** Every route of the portal, for the tenant of the demo. */
export function portalPlaces(demo: Demo): Place[] {
  const base = `/portal/f/${demo.fabric}/t/${demo.tenant.tenant}`;
  return ["share", "history", "endpoints", "classes", "notices", "members"].map((name) => ({
    name: `portal-${name}`,
    path: `${base}/${name}`,
  }));
}
