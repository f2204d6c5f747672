import { Table } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../api/client";
import { StateBadge } from "../../ui/StateBadge";
import { TenantName } from "./links";
import { ScrollTable } from "./ScrollTable";

/** Settings of a plan with their reasons: value, rule, formula, legal range, and what limited the value. Their texts exist in English only. */
export function ReasonTable({ reasons }: { reasons: Schemas["Reason"][] }) {
  const { t } = useTranslation("parts");
  const head = ["setting", "value", "tenant", "rule", "formula", "range", "limit"] as const;
  return (
    <ScrollTable
      label={t("reasons")}
      minWidth={640}
      head={head.map((h) => t(`reason-${h}`))}
      data-reasons={reasons.length}
    >
      {reasons.map((r) => (
        <Table.Tr key={`${r.field} ${r.tenant ?? ""} ${r.rule}`}>
          <Table.Th scope="row" fw={500} miw={132} className="fl-name">
            <code>{r.field}</code>
          </Table.Th>
          <Table.Td className="fl-numeric" lang="en">
            {r.value}
            {r.unit ? ` (${r.unit})` : null}
          </Table.Td>
          <Table.Td>{r.tenant ? <TenantName name={r.tenant} /> : t("whole-device")}</Table.Td>
          <Table.Td>
            <code>{r.rule}</code>
          </Table.Td>
          <Table.Td lang="en" style={{ minWidth: "18rem" }}>
            {r.formula}
          </Table.Td>
          <Table.Td lang="en">{r.range ?? t("any-value")}</Table.Td>
          <Table.Td lang="en">{r.clamped ? <StateBadge tone="warn">{r.clamped}</StateBadge> : t("no-limit")}</Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}
