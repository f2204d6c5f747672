import { Stack, Title } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { percentColumn, rateColumn } from "./columns";
import { MapBadge } from "./MapBadge";
import { type Edge, edgeId, type FabricMap, type Group, type UrlState } from "./model";
import { useGroupName } from "./names";

type TablesProps = {
  fabric: string;
  map: FabricMap;
  groups: Group[];
  edges: Edge[];
  /** The address of the page with changes of its state. */
  hrefOf: (patch: Partial<UrlState>) => string;
};

/** What the picture shows, as two tables: groups, and the links between them. */
export function MapTables({ fabric, map, groups, edges, hrefOf }: TablesProps) {
  const { t } = useTranslation(["map", "common"]);
  const format = useFormat();
  const name = useGroupName();
  const names = useMemo(() => new Map(map.groups.map((g) => [g.id, name(g)])), [map.groups, name]);
  const columns = useMemo<Column<Group>[]>(
    () => [
      { id: "group", header: t("group"), value: name },
      { id: "kind", header: t("common:kind"), value: (g) => t(`common:kind.${g.kind}`) },
      { id: "tier", header: t("tier"), align: "end", value: (g) => g.tier },
      { id: "switches", header: t("switches"), align: "end", value: (g) => g.switches },
      { id: "hosts", header: t("hosts"), align: "end", value: (g) => g.hosts },
      {
        id: "state",
        header: t("common:state"),
        value: (g) => t(`common:map.${g.state}`),
        cell: (g) => <MapBadge state={g.state} />,
      },
      percentColumn(format, "use", t("worst-use"), (g) => g.worst_use),
      { id: "domain", header: t("domain"), value: (g) => g.domain, missing: t("unknown"), hidden: true },
    ],
    [t, name, format],
  );
  const scale = useMemo(() => format.rateScale(edges.map((e) => e.capacity_bps)), [format, edges]);
  const edgeColumns = useMemo<Column<Edge>[]>(
    () => [
      {
        id: "between",
        header: t("link-between"),
        value: (e) => t("between", { a: names.get(e.a) ?? e.a, b: names.get(e.b) ?? e.b }),
      },
      { id: "links", header: t("links"), align: "end", value: (e) => e.links },
      rateColumn(scale, "capacity", t("capacity"), (e) => e.capacity_bps),
      percentColumn(format, "use", t("worst-use"), (e) => e.worst_use),
      { id: "contended", header: t("contended"), align: "end", value: (e) => e.contended },
      { id: "down", header: t("down"), align: "end", value: (e) => e.down },
    ],
    [t, names, format, scale],
  );
  return (
    <Stack gap="md">
      <Title order={2}>{t("groups")}</Title>
      <DataTable
        caption={t("groups")}
        rows={groups}
        columns={columns}
        rowId={(g) => g.id}
        href={(g) => hrefOf({ group: g.id, edge: "" })}
        filterLabel=""
        csvName={`${fabric}-map-groups`}
        count={(shown, total) => t("groups-count", { shown, total })}
        maxHeight="50vh"
      />
      <Title order={2}>{t("links-between")}</Title>
      <DataTable
        caption={t("links-between")}
        rows={edges}
        columns={edgeColumns}
        rowId={(e) => edgeId(e.a, e.b)}
        href={(e) => hrefOf({ edge: edgeId(e.a, e.b), group: "" })}
        csvName={`${fabric}-map-links`}
        maxHeight="50vh"
      />
    </Stack>
  );
}
