import { Table, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { QueryView } from "../../../ui/states";
import { useInForce } from "../../parts/inForce";
import { TenantName } from "../../parts/links";
import type { Device } from "../devices/model";
import { useExplanations } from "../plan/queries";

/** Why the plan sets each field of the device: value, range, formula. */
export function Reasons({ fabric, device: d }: { fabric: string; device: Device }) {
  const plan = useInForce(fabric).plan?.name;
  return plan ? <OfPlan fabric={fabric} plan={plan} device={d} /> : null;
}

function OfPlan({ fabric, plan, device: d }: { fabric: string; plan: string; device: Device }) {
  const { t } = useTranslation("devices");
  const query = useExplanations(fabric, plan, d.kind === "ca" ? d.id : "", "");
  return (
    <QueryView query={query}>
      {(list) => {
        const mine = list.filter((e) => e.name === d.name || e.name.startsWith(`${d.name}/`));
        const rows = mine.flatMap((e) => e.reasons.map((r) => ({ ...r, where: e.name })));
        if (rows.length === 0) return <Text c="dimmed">{t("reasons-none")}</Text>;
        return (
          <Table.ScrollContainer
            minWidth={560}
            scrollAreaProps={{ viewportProps: { tabIndex: 0, role: "region", "aria-label": t("reasons") } }}
          >
            <Table verticalSpacing={4} fz="sm" data-reasons={rows.length}>
              <Table.Thead>
                <Table.Tr>
                  {["where", "field", "value", "range", "tenant-col", "formula"].map((c) => (
                    <Table.Th key={c} scope="col">
                      {t(c)}
                    </Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {rows.map((r) => (
                  <Table.Tr key={`${r.where} ${r.field} ${r.tenant ?? ""} ${r.rule}`}>
                    <Table.Td className="fl-name">{r.where}</Table.Td>
                    <Table.Th scope="row" fw={400}>
                      <code className="fl-name">{r.field}</code>
                    </Table.Th>
                    <Table.Td>{r.unit ? `${r.value} (${r.unit})` : r.value}</Table.Td>
                    <Table.Td>{r.range}</Table.Td>
                    <Table.Td>{r.tenant ? <TenantName name={r.tenant} /> : null}</Table.Td>
                    <Table.Td className="fl-name">
                      {r.formula}
                      {r.clamped ? ` · ${r.clamped}` : ""}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        );
      }}
    </QueryView>
  );
}
