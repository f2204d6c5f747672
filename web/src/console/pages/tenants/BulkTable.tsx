import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import type { BulkChange } from "./bulk";

/** Weights before and after. */
export function BulkTable({ changes }: { changes: BulkChange[] }) {
  const { t } = useTranslation(["tenants", "common"]);
  const f = useFormat();
  const weight = useMemo(() => f.weightScale(changes.flatMap((c) => [c.tenant.weight, c.after])), [f, changes]);
  const columns = useMemo<Column<BulkChange>[]>(
    () => [
      { id: "tenant", header: t("common:tenant"), value: (c) => c.tenant.name },
      {
        id: "before",
        header: t("weight-before"),
        align: "end",
        value: (c) => c.tenant.weight,
        cell: (c) => weight(c.tenant.weight),
      },
      {
        id: "after",
        header: t("weight-after"),
        align: "end",
        value: (c) => c.after,
        cell: (c) => weight(c.after),
        missing: t("bulk-invalid"),
      },
    ],
    [weight, t],
  );
  return (
    <DataTable
      caption={t("bulk-caption")}
      rows={changes}
      columns={columns}
      rowId={(c) => c.tenant.name}
      filterLabel={changes.length > 12 ? undefined : ""}
      count={(shown, total) => t("count", { shown, total })}
      maxHeight="16rem"
    />
  );
}
