import { useTranslation } from "react-i18next";
import type { Matrix } from "./heat";
import { Legend } from "./Legend";
import { edgeEnds, type FabricMap, joins, type SetUrl, type UrlState } from "./model";
import { useGroupName } from "./names";
import { EdgePanel, GroupPanel, meetingsOf } from "./Panel";

/** Beside the map: what is selected, else the legend. */
export function Aside({
  fabric,
  map,
  matrix,
  url,
  set,
}: {
  fabric: string;
  map: FabricMap;
  matrix: Matrix | undefined;
  url: UrlState;
  set: SetUrl;
}) {
  const { t } = useTranslation("map");
  return (
    <aside className="fl-panel fl-map-aside" aria-label={t("details")}>
      <Selected fabric={fabric} map={map} matrix={matrix} url={url} set={set} />
    </aside>
  );
}

function Selected(p: { fabric: string; map: FabricMap; matrix: Matrix | undefined; url: UrlState; set: SetUrl }) {
  const { t } = useTranslation("map");
  const name = useGroupName();
  const { map, matrix, url, set } = p;
  const common = { fabric: p.fabric, map, set, onClose: () => closed(set) };
  if (url.group) {
    const group = map.groups.find((g) => g.id === url.group);
    return group ? <GroupPanel key={group.id} {...common} group={group} /> : <p>{t("not-drawn")}</p>;
  }
  if (!url.edge) return <Legend />;
  const [a, b] = edgeEnds(url.edge);
  const edge = map.edges.find((e) => joins(e, a, b));
  const nameOf = (id: string) => {
    const g = map.groups.find((x) => x.id === id);
    return g ? name(g) : ([...(matrix?.rows ?? []), ...(matrix?.columns ?? [])].find((s) => s.id === id)?.name ?? id);
  };
  const meetings = meetingsOf(map, a, b);
  if (edge)
    return (
      <EdgePanel key={url.edge} {...common} edge={edge} names={[nameOf(edge.a), nameOf(edge.b)]} meetings={meetings} />
    );
  const cell = matrix?.cells.find((c) => joins({ a: matrix.rows[c.row]?.id, b: matrix.columns[c.column]?.id }, a, b));
  if (!cell) return <p>{t("not-drawn")}</p>;
  const between = { ...cell, a, b, capacity_bps: 0 };
  // Switches of the matrix may be in one group of the map: then the names of the link's ends decide.
  const ends = [nameOf(a), nameOf(b)];
  const named = map.tenants_meeting.filter((m) => {
    const sides = m.link.split(" -> ").map((end) => end.replace(/\/P\d+$/, ""));
    return sides.length === 2 && sides.every((side) => ends.includes(side));
  });
  return (
    <EdgePanel
      key={url.edge}
      {...common}
      edge={between}
      names={[nameOf(a), nameOf(b)]}
      meetings={meetings.length ? meetings : named}
    />
  );
}

/** Closes the panel; the focus returns to the place of the keyboard on the map. */
function closed(set: SetUrl) {
  set({ group: "", edge: "" });
  document.querySelector<HTMLElement>("[data-map-cursor]")?.focus({ preventScroll: true });
}
