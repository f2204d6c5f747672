import { client, data, type Schemas } from "../../../api/client";
import { bodyOf, etagOf, type Flow, readFlows, type Tenant } from "./queries";

/** Compiles the current declarations and stores the plan. */
export function storePlan(fabric: string, key: string): Promise<Schemas["Plan"]> {
  return data<Schemas["Plan"]>(
    client.POST("/api/v1/fabrics/{fabric}/plans", {
      params: { path: { fabric }, header: { "Idempotency-Key": key } },
      body: {},
    }),
  );
}

/** What a plan of edited declarations would give each tenant, beside what the current declarations give. */
export function whatIf(fabric: string, edits: string[]): Promise<Schemas["WhatIf"]> {
  return data<Schemas["WhatIf"]>(
    client.POST("/api/v1/fabrics/{fabric}/plans/what-if", { params: { path: { fabric } }, body: { edits } }),
  );
}

/** Edits that one request may hold. */
export const mostEdits = 100;

/** Replaces a tenant, if it still is at the version that was read. */
export function putTenant(
  fabric: string,
  tenant: Tenant,
  change: Partial<Schemas["TenantUpdate"]>,
  etag = etagOf(tenant),
) {
  return data<Tenant>(
    client.PUT("/api/v1/fabrics/{fabric}/tenants/{tenant}", {
      params: { path: { fabric, tenant: tenant.name }, header: { "If-Match": etag } },
      body: { ...bodyOf(tenant), ...change },
    }),
  );
}

/** Flows that a new tenant may declare at once; more are declared by a tenant file. */
export const mostNewFlows = 5000;

/** Number of flows of a tenant whose ports each send to `to`, or to each other. */
export const flowCount = (ports: number, to: number) => (to > 0 ? ports * to : ports * Math.max(0, ports - 1));

/** Adds flows of a tenant to the declared ones: each port to each of `to`, or to each other port. Nothing is lost: the set is replaced at the version read. */
export async function declareFlows(fabric: string, tenant: string, ports: string[], to: string[]): Promise<void> {
  const { body, etag } = await readFlows(fabric);
  const more: Flow[] = ports.flatMap((src) =>
    (to.length > 0 ? to : ports).flatMap((dst) => (dst === src ? [] : [{ tenant, src, dst, qps: 1 }])),
  );
  const kept = body.flows.map(({ src_name: _s, dst_name: _d, ...flow }) => flow);
  await data(
    client.PUT("/api/v1/fabrics/{fabric}/flows", {
      params: { path: { fabric }, header: { "If-Match": etag } },
      body: { flows: [...kept, ...more] } as never,
    }),
  );
}
