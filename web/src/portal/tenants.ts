import { isOperator, type Me } from "../shell/me";

/** A tenant that the reader is a member of. */
export type MyTenant = { fabric: string; tenant: string };

/** The tenants of the reader's roles, by fabric and name. */
export function tenantsOf(me: Me): MyTenant[] {
  const seen = new Map<string, MyTenant>();
  for (const r of me.roles)
    if (r.fabric && r.tenant) seen.set(`${r.fabric}/${r.tenant}`, { fabric: r.fabric, tenant: r.tenant });
  return [...seen.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, m]) => m);
}

export const sameTenant = (a: MyTenant, b: MyTenant) => a.fabric === b.fabric && a.tenant === b.tenant;

/** Whether the reader may see the pages of a tenant: as its member, or as an operator. */
export const sees = (me: Me, m: MyTenant) => isOperator(me) || tenantsOf(me).some((x) => sameTenant(x, m));

/** The address of a tenant's page. */
export function placeOfTenant(m: MyTenant, page = "share"): string {
  return `/portal/f/${encodeURIComponent(m.fabric)}/t/${encodeURIComponent(m.tenant)}/${page}`;
}
