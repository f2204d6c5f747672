import { Table } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../api/client";
import { StateBadge } from "../../ui/StateBadge";
import { TenantName } from "./links";
import { Noted, Rule, useUnitWord } from "./Notation";
import { ScrollTable } from "./ScrollTable";

/** Settings of a plan with their reasons: value, rule, formula, legal range, and what limited the value. */
export function ReasonTable({ reasons }: { reasons: Schemas["Reason"][] }) {
  const { t } = useTranslation("parts");
  const unit = useUnitWord();
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
            <code>
              <Noted said={r.field_said} text={r.field} />
            </code>
          </Table.Th>
          <Table.Td className="fl-numeric">
            <Noted said={r.value_said} text={r.value} />
            {r.unit ? ` (${unit(r.unit, r.unit_said)})` : null}
          </Table.Td>
          <Table.Td>{r.tenant ? <TenantName name={r.tenant} /> : t("whole-device")}</Table.Td>
          <Table.Td>
            <Rule rule={r.rule} />
          </Table.Td>
          <Table.Td style={{ minWidth: "18rem" }}>
            <Noted said={r.formula_said} text={r.formula} />
          </Table.Td>
          <Table.Td>{r.range ? <Noted said={r.range_said} text={r.range} /> : t("any-value")}</Table.Td>
          <Table.Td>
            {r.clamped ? (
              <StateBadge tone="warn">
                <Noted said={r.clamped_said} text={r.clamped} />
              </StateBadge>
            ) : (
              t("no-limit")
            )}
          </Table.Td>
        </Table.Tr>
      ))}
    </ScrollTable>
  );
}
