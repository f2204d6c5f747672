import { Group as Row, Select, Stack, Text, Title } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Empty, Partial, QueryView } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { percentColumn } from "./columns";
import { HeatGrid } from "./HeatGrid";
import { type Cell, type Matrix, steps } from "./heat";
import { edgeId, type FabricMap, type SetUrl, type UrlState } from "./model";
import { useGroupName } from "./names";
import type { useMatrix } from "./queries";

type ViewProps = {
  fabric: string;
  map: FabricMap;
  query: ReturnType<typeof useMatrix>;
  url: UrlState;
  set: SetUrl;
  hrefOf: (patch: Partial<UrlState>) => string;
};

/** The heat matrix with its choices, legend and table. */
export function MatrixView(p: ViewProps) {
  return (
    <Stack gap="md">
      <Choices {...p} />
      <QueryView query={p.query}>{(matrix) => <Shown {...p} matrix={matrix} />}</QueryView>
    </Stack>
  );
}

/** Which rows the matrix has: a tier of switches, or the switches of one group. */
function Choices({ map, url, set, query }: ViewProps) {
  const { t } = useTranslation("map");
  const name = useGroupName();
  const tiers = [...new Set(map.groups.filter((g) => g.kind === "switch").map((g) => g.tier))];
  const groups = map.groups.filter((g) => g.kind === "switch" && g.switches > 1);
  return (
    <Row gap="sm" align="flex-end">
      <Select
        label={t("matrix-tier")}
        value={url.tier || String(query.data?.tier ?? 1)}
        data={[...new Set([...tiers.filter((x) => x >= 1), query.data?.tier ?? 1])]
          .sort((a, b) => a - b)
          .map((x) => ({ value: String(x), label: t("tier-is", { tier: x }) }))}
        onChange={(tier) => set({ tier: tier ?? "", edge: "" })}
        allowDeselect={false}
        w="12rem"
      />
      {groups.length > 0 || url.rows ? (
        <Select
          label={t("matrix-group")}
          placeholder={t("matrix-all")}
          value={url.rows || null}
          data={groups.map((g) => ({ value: g.id, label: name(g) }))}
          onChange={(rows) => set({ rows: rows ?? "", edge: "" })}
          clearable
          clearButtonProps={{ "aria-label": t("matrix-all") }}
          searchable
          w="18rem"
        />
      ) : null}
    </Row>
  );
}

function Shown({ fabric, url, set, hrefOf, matrix }: ViewProps & { matrix: Matrix }) {
  const { t } = useTranslation("map");
  if (matrix.cells.length === 0)
    return <Empty title={t("matrix-empty")} why={t("matrix-empty-why", { tier: matrix.tier })} />;
  const idOf = (c: Cell) => edgeId(matrix.rows[c.row]?.id ?? "", matrix.columns[c.column]?.id ?? "");
  const open = matrix.cells.find((c) => idOf(c) === url.edge);
  return (
    <Stack gap="md">
      <Text size="sm">
        {t(matrix.by === "group" ? "matrix-groups" : "matrix-switches", {
          rows: matrix.rows.length,
          columns: matrix.columns.length,
        })}
      </Text>
      {matrix.more_rows || matrix.more_columns ? (
        <Partial>{t("matrix-more", { rows: matrix.more_rows, columns: matrix.more_columns })}</Partial>
      ) : null}
      <HeatLegend />
      <HeatGrid
        matrix={matrix}
        selected={open ? `${open.row},${open.column}` : ""}
        onOpen={(c) => set({ edge: idOf(c), group: "" }, url.edge === "")}
      />
      <Title order={2}>{t("matrix-table")}</Title>
      <CellTable fabric={fabric} matrix={matrix} href={(c) => hrefOf({ edge: idOf(c), group: "" })} />
    </Stack>
  );
}

function HeatLegend() {
  const { t } = useTranslation("map");
  return (
    <ul className="fl-heat-legend" aria-label={t("legend")}>
      {[...steps.map((s) => s.id), "none", "down"].map((id) => (
        <li key={id}>
          <span className="fl-heat-key" data-step={id} /> {t(`heat.${id}`)}
        </li>
      ))}
      <li>
        <span className="fl-heat-key" data-step="95" data-contended="" /> {t("heat.contended")}
      </li>
      <li>
        <span className="fl-heat-key" /> {t("heat.empty")}
      </li>
    </ul>
  );
}

function CellTable({ fabric, matrix, href }: { fabric: string; matrix: Matrix; href: (c: Cell) => string }) {
  const { t } = useTranslation(["map", "common"]);
  const format = useFormat();
  const columns = useMemo<Column<Cell>[]>(
    () => [
      { id: "row", header: t("lower"), value: (c) => matrix.rows[c.row]?.name },
      { id: "column", header: t("upper"), value: (c) => matrix.columns[c.column]?.name },
      { id: "links", header: t("links"), align: "end", value: (c) => c.links },
      percentColumn(format, "use", t("worst-use"), (c) => c.worst_use),
      { id: "contended", header: t("contended"), align: "end", value: (c) => c.contended },
      { id: "down", header: t("down"), align: "end", value: (c) => c.down },
    ],
    [t, format, matrix],
  );
  return (
    <DataTable
      caption={t("matrix-table")}
      rows={matrix.cells}
      columns={columns}
      rowId={(c) => `${c.row} ${c.column}`}
      href={href}
      csvName={`${fabric}-matrix`}
      maxHeight="50vh"
    />
  );
}
