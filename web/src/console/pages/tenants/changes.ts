import { client, data, type Schemas } from "../../../api/client";
import { type Flow, readFlows, type Tenant } from "./queries";

/** What is declared of a tenant. Rates are in bit/s. */
export type Declared = Pick<Tenant, "weight" | "guarantee_bps" | "cap_bps" | "pkey" | "classes" | "attachments">;

/** The attachments that the operator declares: without those that only feeds claim, which a declaration leaves alone. */
export const ownOf = (attachments: Schemas["Attachment"][]) => attachments.filter((a) => !a.feed_only);

/** A declaration as the body of a replacing change: the service knows ports by their GUID and number alone. */
export function bodyOf(d: Declared): Schemas["TenantUpdate"] {
  return {
    weight: d.weight,
    guarantee_bps: d.guarantee_bps,
    cap_bps: d.cap_bps,
    pkey: d.pkey,
    classes: d.classes,
    attachments: ownOf(d.attachments).map(({ port, sl }) => (sl === undefined ? { port } : { port, sl })),
  };
}

/** Replaces a tenant at the version of the entity tag; with `dryRun` the service only checks the change. */
export function putTenant(fabric: string, tenant: string, declared: Declared, etag: string, dryRun = false) {
  return data<Tenant>(
    client.PUT("/api/v1/fabrics/{fabric}/tenants/{tenant}", {
      params: { path: { fabric, tenant }, query: { dry_run: dryRun }, header: { "If-Match": etag } },
      body: bodyOf(declared),
    }),
  );
}

/** Flows that a new tenant may declare at once; more are declared by a tenant file. */
export const mostNewFlows = 5000;

/** Number of flows of a tenant whose ports each send to `to`, or to each other. */
export const flowCount = (ports: number, to: number) => (to > 0 ? ports * to : ports * Math.max(0, ports - 1));

/** Declares the flows of a tenant: each port to each of `to`, or to each other port. Flows of other tenants stay: the set is replaced at the version read. */
export async function declareFlows(fabric: string, tenant: string, ports: string[], to: string[]): Promise<void> {
  const { body, etag } = await readFlows(fabric);
  const more: Flow[] = ports.flatMap((src) =>
    (to.length > 0 ? to : ports).flatMap((dst) => (dst === src ? [] : [{ tenant, src, dst, qps: 1 }])),
  );
  const kept = body.flows.filter((f) => f.tenant !== tenant).map(({ src_name: _s, dst_name: _d, ...flow }) => flow);
  await data(
    client.PUT("/api/v1/fabrics/{fabric}/flows", {
      params: { path: { fabric }, header: { "If-Match": etag } },
      body: { flows: [...kept, ...more] } as never,
    }),
  );
}
