import type { Schemas } from "../../../api/client";

export type FabricMap = Schemas["FabricMap"];
export type Group = Schemas["MapGroup"];
export type Edge = Schemas["MapEdge"];
export type Meeting = Schemas["LinkMeeting"];
export type State = Schemas["MapState"];
export type RoutedPath = Schemas["RoutedPath"];

/** States from the least to the worst. */
export const states: readonly State[] = ["ok", "contended", "drifted", "below-share", "down"];

/** The state of the page in its address; its texts are the defaults. */
export const urlDefaults = {
  view: "map",
  expand: "",
  /** Selected group, or selected edge as `edgeId` writes it. */
  group: "",
  edge: "",
  /** Words that the names of groups must contain. */
  filter: "",
  only: "",
  hosts: "",
  find: "",
  /** A link direction by its name, as other pages link to it. */
  link: "",
  src: "",
  dst: "",
  tenant: "",
  tier: "",
  rows: "",
  meeting: "",
};
export type UrlState = typeof urlDefaults;
export type SetUrl = (patch: Partial<UrlState>, push?: boolean) => void;

const between = "~";

/** The pair of two groups as a text for the address. */
export function edgeId(a: string, b: string): string {
  return `${a}${between}${b}`;
}

/** The two groups of an `edgeId`; empty texts when it is none. */
export function edgeEnds(id: string): [string, string] {
  const [a = "", b = ""] = id.split(between);
  return [a, b];
}

/** Whether an edge joins the two groups, in any order. */
export function joins(e: { a?: string; b?: string }, a: string, b: string): boolean {
  return (e.a === a && e.b === b) || (e.a === b && e.b === a);
}

/** The filters of the map. */
export type Filter = { text: string; contended: boolean; hideHosts: boolean };

/** The groups and edges that pass the filter. With `contended`, groups stay that are in another state than ok or have an edge that is contended or down. */
export function filtered(map: FabricMap, filter: Filter): { groups: Group[]; edges: Edge[] } {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const hot = new Set(map.edges.flatMap((e) => (e.contended > 0 || e.down > 0 ? [e.a, e.b] : [])));
  const groups = map.groups.filter(
    (g) =>
      (!filter.hideHosts || g.kind !== "host") &&
      (!filter.contended || g.state !== "ok" || hot.has(g.id)) &&
      words.every((w) => `${g.name} ${g.id} ${g.domain ?? ""}`.toLowerCase().includes(w)),
  );
  const shown = new Set(groups.map((g) => g.id));
  const edges = map.edges.filter(
    (e) => shown.has(e.a) && shown.has(e.b) && (!filter.contended || e.contended > 0 || e.down > 0),
  );
  return { groups, edges };
}

/** Members of a group: its switches and hosts. */
export function members(g: Group): number {
  return g.switches + g.hosts;
}

/** The least part of its entitlement that a contending tenant of a meeting receives; undefined where none was measured. */
export function leastReceived(m: Meeting): number | undefined {
  const parts = m.tenants.flatMap((t) =>
    t.entitled_bps && t.delivered_bps !== undefined && t.state === "contending"
      ? [t.delivered_bps / t.entitled_bps]
      : [],
  );
  return parts.length ? Math.min(...parts) : undefined;
}

/** Meetings, the worst first: a path that is down, then the least part of a share received, then the highest use. */
export function byWorst(list: readonly Meeting[]): Meeting[] {
  const rank = (m: Meeting) => (m.tenants.some((t) => t.state === "path-down") ? -1 : (leastReceived(m) ?? 2));
  return [...list].sort((a, b) => rank(a) - rank(b) || (b.use ?? -1) - (a.use ?? -1) || a.link.localeCompare(b.link));
}

/** Node GUID of a port `GUID:PORT`. */
export function nodeOf(port: string): string {
  return port.split(":")[0] ?? port;
}

/** What the name of a link direction selects: the edge that contains it, else a search for the sending device. */
export function ofLink(map: FabricMap | undefined, link: string): { edge: string; find: string } {
  const meeting = map?.tenants_meeting.find((m) => m.link === link);
  if (meeting?.a && meeting.b) return { edge: edgeId(meeting.a, meeting.b), find: "" };
  return { edge: "", find: link.split(" -> ")[0]?.replace(/\/P\d+$/, "") ?? "" };
}
