import { Alert, Stack, Text } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { lazy, Suspense, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { Icon } from "../../../ui/icons";
import { Loading } from "../../../ui/states";
import type { Edge, FabricMap, Group, RoutedPath, SetUrl, UrlState } from "./model";
import { useDescribe } from "./names";
import { useDrawing } from "./useDrawing";

const canvas = () => import("./canvas/MapCanvas");
const MapCanvas = lazy(canvas);
void canvas().catch(() => undefined); // loads beside the map's data; drawing reports a failure

type MapViewProps = {
  map: FabricMap;
  groups: Group[];
  edges: Edge[];
  path: RoutedPath | undefined;
  url: UrlState;
  set: SetUrl;
  summary: string;
  onReady: () => void;
  onFail: () => void;
};

/** The picture in the width that the page gives it. */
export function MapView(p: MapViewProps) {
  const { ref, width } = useElementSize();
  return <div ref={ref}>{width > 0 ? <Sized {...p} width={Math.max(280, Math.floor(width / 40) * 40)} /> : null}</div>;
}

function Sized({ width, ...p }: MapViewProps & { width: number }) {
  const { t } = useTranslation(["map", "common"]);
  const words = useDescribe();
  const drawing = useDrawing({ ...p, group: p.url.group, edge: p.url.edge, width });
  const byId = useMemo(() => new Map(p.groups.map((g) => [g.id, g])), [p.groups]);
  const { set, url } = p;
  const open = url.group !== "" || url.edge !== "";
  const tierLabel = (tier: number) => t(tier === 0 ? "tier-hosts" : "tier-is", { tier });
  return (
    <Stack gap={4}>
      <Suspense fallback={<Loading lines={8} />}>
        <MapCanvas
          drawing={drawing}
          height={Math.min(1000, Math.max(300, drawing.layout.height + 95))}
          label={t("map-label", { groups: p.groups.length, edges: p.edges.length, summary: p.summary })}
          tierLabel={tierLabel}
          nameOf={(id) => {
            const g = byId.get(id);
            return g ? words(g) : id;
          }}
          onGroup={(group) => set({ group, edge: "" }, !open)}
          onEdge={(edge) => set({ edge, group: "" }, !open)}
          onFail={p.onFail}
          onReady={p.onReady}
        />
      </Suspense>
      {p.map.more ? <Text size="sm">{t("members-more", { n: p.map.more })}</Text> : null}
      {p.map.more_edges ? <Text size="sm">{t("edges-more", { n: p.map.more_edges })}</Text> : null}
    </Stack>
  );
}

/** In place of the picture where the browser cannot draw it. */
export function NoPicture() {
  const { t } = useTranslation("map");
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="warning" />} title={t("no-webgl")} data-map="no-webgl">
      {t("no-webgl-why")}
    </Alert>
  );
}
