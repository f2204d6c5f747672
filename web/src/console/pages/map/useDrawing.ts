import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import type { Drawing, DrawnEdge } from "./canvas/picture";
import { layOut } from "./layout";
import {
  type Edge,
  edgeEnds,
  edgeId,
  type FabricMap,
  type Group,
  joins,
  members,
  nodeOf,
  type RoutedPath,
} from "./model";

/** Edges with words on the picture, at most: the worst come first. */
const worded = 40;

/** The narrowest drawn group that holds a node; undefined when none is drawn. */
export function drawnIn(groups: readonly string[] | undefined, drawn: ReadonlySet<string>): string | undefined {
  return groups?.findLast((id) => drawn.has(id));
}

/** The drawn groups of a route, and the pairs of them that its links join, as `edgeId`. */
export function drawnPath(path: RoutedPath | undefined, drawn: ReadonlySet<string>) {
  const at = new Map((path?.nodes ?? []).map((n) => [n.guid, drawnIn(n.groups, drawn)]));
  const stops = new Set([...at.values()].filter((id) => id !== undefined));
  const pairs = new Set(
    (path?.hops ?? []).flatMap((h) => {
      const a = at.get(nodeOf(h.port));
      const b = at.get(nodeOf(h.peer));
      return a && b && a !== b ? [edgeId(a, b), edgeId(b, a)] : [];
    }),
  );
  return { stops, pairs };
}

/** What the picture shows of a map. The layout stays while only states change. */
export function useDrawing(p: {
  map: FabricMap;
  groups: Group[];
  edges: Edge[];
  width: number;
  group: string;
  edge: string;
  path: RoutedPath | undefined;
}): Drawing {
  const { t } = useTranslation("map");
  const format = useFormat();
  const structure = JSON.stringify([p.groups.map((g) => [g.id, g.tier]), p.edges.map((e) => [e.a, e.b]), p.width]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the structure is the text of what the layout depends on
  const layout = useMemo(() => layOut(p.groups, p.edges, p.width), [structure]);
  const { groups, edges, group, edge, path } = p;
  const { found } = p.map;
  return useMemo(() => {
    const drawn = new Set(groups.map((g) => g.id));
    const holder = drawnIn(found?.groups, drawn);
    const route = drawnPath(path, drawn);
    const [a, b] = edgeEnds(edge);
    let words = 0;
    return {
      layout,
      groups: groups.map((g) => ({
        id: g.id,
        label: members(g) > 1 ? t("label", { name: g.name, n: members(g) }) : g.name,
        name: g.name,
        members: members(g),
        square: g.kind === "switch",
        state: g.state,
        rings: [
          ...(g.id === group ? (["selected"] as const) : []),
          ...(g.id === holder ? (["found"] as const) : []),
          ...(route.stops.has(g.id) ? (["path"] as const) : []),
        ],
      })),
      edges: edges.map((e): DrawnEdge => {
        const id = edgeId(e.a, e.b);
        const tone = e.down > 0 ? "down" : e.contended > 0 ? "contended" : route.pairs.has(id) ? "path" : "plain";
        const hot = (tone === "down" || tone === "contended") && words++ < worded;
        const label = e.down > 0 ? t("down-links", { n: e.down }) : (format.share(e.worst_use) ?? "!");
        return { id, a: e.a, b: e.b, tone, use: e.worst_use, label: hot ? label : undefined, selected: joins(e, a, b) };
      }),
    };
  }, [layout, groups, edges, group, edge, path, found, t, format]);
}
