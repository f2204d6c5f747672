import "./map/map.css";
import { Button, Group as Row, Stack, Tabs, Text, Title } from "@mantine/core";
import { useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useFabricName } from "../../shell/fabrics";
import { shellWord } from "../../ui/CopyAs";
import { Page } from "../../ui/Page";
import { asProblem } from "../../ui/ProblemNote";
import { Empty, Partial, QueryView } from "../../ui/states";
import { stringifySearch, useUrlState } from "../../ui/useUrlState";
import { Answer, useAnswer } from "./map/Answer";
import { Aside } from "./map/Aside";
import { Filters, Found } from "./map/Filters";
import { MapTables } from "./map/MapTables";
import { MapView, NoPicture } from "./map/MapView";
import { MatrixView } from "./map/MatrixView";
import { Meetings } from "./map/Meetings";
import {
  type FabricMap as FabricMapData,
  filtered,
  ofLink,
  type SetUrl,
  type UrlState,
  urlDefaults,
} from "./map/model";
import { useGroupName } from "./map/names";
import { PathFinder } from "./map/PathFinder";
import { useMap, useMapOnce, useMatrix, usePath } from "./map/queries";

/** The map of a fabric: contended links and the tenants on them, the state of devices, and paths. */
export default function FabricMap() {
  const { t } = useTranslation(["map", "shell"]);
  const fabric = useFabricName();
  const [given, set] = useUrlState(urlDefaults);
  const whole = useMapOnce(fabric, given.expand, given.link !== "");
  const url = useMemo(() => selected(given, whole.data), [given, whole.data]);
  const map = useMap(fabric, url.expand, url.find);
  const matrix = useMatrix(fabric, url.tier, url.rows, url.view === "matrix");
  const [framed, setFramed] = useState(false);
  const [failed, setFailed] = useState(typeof WebGL2RenderingContext === "undefined");
  useEffect(() => {
    if (url.view !== "map") setFramed(false);
  }, [url.view]);
  const sentence = useAnswer(map.data);
  const shown = map.data !== undefined && !map.isPlaceholderData;
  const empty = map.data?.groups.length === 0;
  const viewed = { map: framed || failed || empty, matrix: matrix.data !== undefined }[url.view] ?? true;
  const code = map.error && !map.data ? asProblem(map.error).code : "";
  return (
    <Page
      title={t("shell:nav.map")}
      answer={map.data ? <Answer map={map.data} sentence={sentence} /> : null}
      ready={(shown && viewed) || code !== ""}
      copy={{
        command: `fairlane topology links --fabric ${shellWord(fabric)}`,
        api: `GET /api/v1/fabrics/${encodeURIComponent(fabric)}/map${stringifySearch({ expand: url.expand })}`,
      }}
    >
      {code === "not-discovered" ? (
        <Empty title={t("not-discovered")} why={t("not-discovered-why", { fabric })} />
      ) : code === "not-found" && url.expand ? (
        <Empty
          title={t("no-group")}
          why={t("no-group-why")}
          action={<Button onClick={() => set({ expand: "" })}>{t("whole-fabric")}</Button>}
        />
      ) : (
        <QueryView query={map} lines={10}>
          {(data) => (
            <Shown
              fabric={fabric}
              map={data}
              matrix={matrix}
              url={url}
              set={set}
              summary={sentence}
              failed={failed}
              onReady={() => setFramed(true)}
              onFail={() => setFailed(true)}
            />
          )}
        </QueryView>
      )}
    </Page>
  );
}

/** The state of the page; with the name of a link direction, its edge is selected, or the sending device is searched for. */
function selected(given: UrlState, map: FabricMapData | undefined): UrlState {
  if (!given.link || !map || given.group || given.edge || given.find) return given;
  return { ...given, ...ofLink(map, given.link) };
}

type ShownProps = {
  fabric: string;
  map: FabricMapData;
  matrix: ReturnType<typeof useMatrix>;
  url: UrlState;
  set: SetUrl;
  summary: string;
  failed: boolean;
  onReady: () => void;
  onFail: () => void;
};

function Shown(p: ShownProps) {
  const { t } = useTranslation("map");
  const { fabric, map, url, set } = p;
  const path = usePath(fabric, url.src, url.dst, url.tenant);
  return (
    <Stack gap="md">
      {map.series === "partial" ? <Partial>{t("series-partial")}</Partial> : null}
      <Filters fabric={fabric} url={url} set={set} />
      <Views {...p} path={path.data} />
      <Title order={2}>{t("who-meets-where")}</Title>
      <Meetings fabric={fabric} map={map} filter={url.meeting} set={set} />
      <Title order={2}>{t("path")}</Title>
      <PathFinder fabric={fabric} url={url} set={set} query={path} />
    </Stack>
  );
}

/** The map as picture, matrix or tables, with what is selected beside it. */
function Views(p: ShownProps & { path: ReturnType<typeof usePath>["data"] }) {
  const { t } = useTranslation("map");
  const { fabric, map, url, set } = p;
  const contended = url.only === "contended";
  const hideHosts = url.hosts === "hide";
  const { groups, edges } = useMemo(
    () => filtered(map, { text: url.filter, contended, hideHosts }),
    [map, url.filter, contended, hideHosts],
  );
  const hrefOf = (patch: Partial<UrlState>) => addressOf({ ...url, ...patch });
  const tables = <MapTables fabric={fabric} map={map} groups={groups} edges={edges} hrefOf={hrefOf} />;
  const beside = url.view === "map" || url.group !== "" || url.edge !== "";
  const none =
    groups.length === 0 ? (
      <Empty
        title={t("filter-none")}
        why={t("filter-none-why")}
        action={<Button onClick={() => set({ filter: "", only: "", hosts: "" })}>{t("filter-clear")}</Button>}
      />
    ) : null;
  return (
    <Stack gap="sm">
      <Found map={map} groups={groups} url={url} set={set} />
      <Crumbs fabric={fabric} map={map} url={url} set={set} />
      <Tabs value={url.view} onChange={(view) => set({ view: view ?? "map" }, true)} keepMounted={false}>
        <Tabs.List aria-label={t("view")} mb="sm">
          {["map", "matrix", "table"].map((view) => (
            <Tabs.Tab key={view} value={view}>
              {t(`view.${view}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <div className="fl-map-columns">
          <div style={{ minWidth: 0 }}>
            <Tabs.Panel value="map">
              {none ?? (p.failed ? <NoPicture /> : <MapView {...p} groups={groups} edges={edges} />)}
              {p.failed && !none ? tables : null}
            </Tabs.Panel>
            <Tabs.Panel value="matrix">
              <MatrixView fabric={fabric} map={map} query={p.matrix} url={url} set={set} hrefOf={hrefOf} />
            </Tabs.Panel>
            <Tabs.Panel value="table">{none ?? tables}</Tabs.Panel>
          </div>
          {beside ? (
            <Aside
              fabric={fabric}
              map={map}
              matrix={url.view === "matrix" ? p.matrix.data : undefined}
              url={url}
              set={set}
            />
          ) : null}
        </div>
      </Tabs>
    </Stack>
  );
}

/** The part of the fabric that is drawn, with a button that returns to the whole. */
function Crumbs({ fabric, map, url, set }: { fabric: string; map: FabricMapData; url: UrlState; set: SetUrl }) {
  const { t } = useTranslation("map");
  const name = useGroupName();
  const whole = useMapOnce(fabric, "", url.expand !== "");
  if (!map.expanded) return <Text size="sm">{t(`by.${map.by}`, { n: map.groups.length })}</Text>;
  const guid = map.expanded.split(":").at(-1) ?? "";
  const known = [...(whole.data?.groups ?? []), ...map.groups];
  const first = known.find((g) => g.id === map.expanded) ?? known.find((g) => g.id === `switch:${guid}`);
  return (
    <Row gap="sm" component="nav" aria-label={t("shown-part")}>
      <Button size="compact-sm" variant="light" onClick={() => set({ expand: "", group: "", edge: "" }, true)}>
        {t("whole-fabric")}
      </Button>
      <Text span className="fl-name">
        {t("expanded", { group: name({ id: map.expanded, name: first?.name ?? guid }) })}
      </Text>
    </Row>
  );
}

/** The address of this page with a state; what has its default is left out. */
function addressOf(state: UrlState): string {
  const changed = Object.entries(state).filter(([name, value]) => value !== urlDefaults[name as keyof UrlState]);
  return window.location.pathname + stringifySearch(Object.fromEntries(changed));
}
