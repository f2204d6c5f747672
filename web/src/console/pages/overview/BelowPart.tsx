import { Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useFormat } from "../../../format/useFormat";
import { ShareBar } from "../../../ui/ShareBar";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { Why } from "../../../ui/Why";
import { percentColumn, rateColumn, stateColumn } from "../../parts/columns";
import type { FabricOverview } from "../../parts/inForce";
import { LinkName } from "../../parts/links";
import { Part } from "../../parts/Part";

type Below = Schemas["TenantBelow"];

/** Tenants below their share, the lowest first. */
export function BelowPart({ overview: o }: { overview: FabricOverview }) {
  const { t } = useTranslation("overview");
  const columns = useBelowColumns(o.below);
  const unknown = o.verdict === "not-measured";
  return (
    <Part title={t("below")} aside={unknown ? null : <BelowWhy overview={o} />}>
      {o.below_count === 0 ? (
        <Text>{t(unknown ? "below-unknown" : "below-none")}</Text>
      ) : (
        <DataTable
          caption={t("below")}
          rows={o.below}
          columns={columns}
          rowId={(b) => b.tenant}
          href={(b) => `/console/f/${encodeURIComponent(o.fabric)}/tenants/${encodeURIComponent(b.tenant)}`}
          filterLabel={o.below.length > 12 ? undefined : ""}
          count={(shown) => t("below-count", { shown, total: o.below_count })}
          csvName={`${o.fabric}-below-share`}
        />
      )}
    </Part>
  );
}

/** Why so many tenants count as below their share. */
function BelowWhy({ overview: o }: { overview: FabricOverview }) {
  const { t } = useTranslation("overview");
  const format = useFormat();
  const of = (state: string) => o.tenant_states.find((s) => s.state === state)?.tenants ?? 0;
  const more = o.below_count > o.below.length;
  return (
    <Why
      reasoning={{
        of: t("below"),
        value: o.below_count,
        sentence: t("below-why"),
        formula: t("below-formula"),
        inputs: [
          { name: t("why-tenants"), value: o.tenants },
          { name: t("why-contending"), value: of("contending") },
          { name: t("why-unmeasured"), value: of("not-measured") },
          ...o.below.map((b) => ({
            name: b.tenant,
            value: `${format.share(b.received) ?? ""} < ${format.share(b.bound) ?? ""}`,
          })),
        ],
        clamps: more ? [t("below-clamp", { shown: o.below.length, total: o.below_count })] : undefined,
        at: o.measured_at,
      }}
    >
      {o.below_count}
    </Why>
  );
}

function useBelowColumns(below: Below[]): Column<Below>[] {
  const { t } = useTranslation(["overview", "common"]);
  const format = useFormat();
  return useMemo(() => {
    const rates = below.flatMap((b) => [b.entitled_now_bps ?? b.entitled_bps, b.delivered_bps]);
    const scale = format.rateScale(rates);
    const max = Math.max(0, ...rates.flatMap((r) => r ?? []));
    return [
      { id: "tenant", header: t("common:tenant"), value: (b) => b.tenant },
      {
        id: "bar",
        header: t("bar"),
        cell: (b) => (
          <ShareBar
            compact
            label={b.tenant}
            entitled={b.entitled_now_bps ?? b.entitled_bps}
            delivered={b.delivered_bps}
            max={max}
            format={(v) => format.rate(v) ?? ""}
          />
        ),
      },
      rateColumn(scale, "entitled", t("entitled-now"), (b) => b.entitled_now_bps),
      rateColumn(scale, "delivered", t("common:delivered"), (b) => b.delivered_bps),
      percentColumn(format, "received", t("received"), (b) => b.received),
      percentColumn(format, "bound", t("bound"), (b) => b.bound),
      stateColumn(t, (b) => b.state),
      {
        id: "link",
        header: t("limiting-link"),
        value: (b) => b.limiting_link,
        cell: (b) => (b.limiting_link ? <LinkName name={b.limiting_link} /> : undefined),
      },
    ];
  }, [below, format, t]);
}
