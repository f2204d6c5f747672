import { Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Said } from "../../../ui/Said";
import { StateBadge } from "../../../ui/StateBadge";
import { Partial } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { NotMeasured } from "../../../ui/values";
import { TenantName } from "../../parts/links";
import { percentColumn, rateColumn } from "./columns";
import type { RoutedPath } from "./model";

type Hop = RoutedPath["hops"][number];

/** The links of a route in their order, with use and tenants. */
export function Hops({ fabric, path }: { fabric: string; path: RoutedPath }) {
  const { t } = useTranslation(["map", "common"]);
  const columns = useHopColumns(path);
  const contended = path.hops.filter((h) => h.contended).length;
  return (
    <Stack gap="sm" data-path={`${path.src} ${path.dst}`}>
      {path.fault ? (
        <Partial>
          <Said said={path.said} english={path.fault} />
        </Partial>
      ) : (
        <Text>{t(path.hops.length === 0 ? "path-itself" : "path-is", { n: path.hops.length, contended })}</Text>
      )}
      {path.hops.length > 0 ? (
        <DataTable
          caption={t("path-hops")}
          rows={path.hops}
          columns={columns}
          rowId={(h) => `${h.distance} ${h.name}`}
          filterLabel=""
          count={(_, n) => t("path-links", { n })}
          csvName={`${fabric}-path`}
          maxHeight="50vh"
        />
      ) : null}
      {path.more ? <Text size="sm">{t("path-more", { n: path.more })}</Text> : null}
    </Stack>
  );
}

function useHopColumns(path: RoutedPath): Column<Hop>[] {
  const { t } = useTranslation(["map", "common"]);
  const format = useFormat();
  return useMemo<Column<Hop>[]>(() => {
    const scale = format.rateScale(path.hops.flatMap((h) => [h.capacity_bps, h.delivered_bps]));
    return [
      { id: "link", header: t("common:link"), value: (h) => h.name },
      { id: "distance", header: t("hop"), align: "end", value: (h) => h.distance + 1 },
      rateColumn(scale, "capacity", t("capacity"), (h) => h.capacity_bps),
      rateColumn(scale, "delivered", t("common:delivered"), (h) => h.delivered_bps),
      {
        ...percentColumn<Hop>(format, "use", t("use"), (h) => h.use),
        align: "start",
        cell: (h) => <UseBar use={h.use} />,
      },
      {
        id: "contended",
        header: t("common:state"),
        value: (h) => (h.contended ? t("common:map.contended") : t("not-contended")),
        cell: (h) =>
          h.contended ? <StateBadge tone="warn">{t("common:map.contended")}</StateBadge> : t("not-contended"),
      },
      {
        id: "tenants",
        header: t("tenants"),
        value: (h) => h.tenants.map((x) => x.tenant).join(" "),
        missing: t("common:none"),
        cell: (h) =>
          h.tenants.length === 0
            ? t("common:none")
            : h.tenants.map((x, i) => (
                <span key={x.tenant}>
                  {i > 0 ? " " : ""}
                  <TenantName name={x.tenant} />
                </span>
              )),
      },
    ];
  }, [t, format, path]);
}

/** The use of a link as a bar with its number. */
function UseBar({ use }: { use: number | undefined }) {
  const format = useFormat();
  if (use === undefined) return <NotMeasured />;
  return (
    <span className="fl-use">
      <span className="fl-use-track" aria-hidden="true">
        <span className="fl-use-fill" style={{ width: `${Math.min(100, Math.max(0, use * 100))}%` }} />
      </span>
      <span className="fl-numeric">{format.share(use)}</span>
    </span>
  );
}
