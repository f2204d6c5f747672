import { Table } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { When } from "../../../ui/When";
import { RevisionName } from "../../parts/links";
import { Part } from "../../parts/Part";
import type { Plan } from "../../parts/plans";
import { OptionsText } from "./OptionsText";

/** What the plan was made from: revision, snapshot, options, time. */
export function PlanFacts({ plan }: { plan: Plan }) {
  const { t } = useTranslation("plans");
  const { duration } = useFormat();
  const rows: [string, React.ReactNode][] = [
    [
      t("fact-name"),
      <code key="name" className="fl-name">
        {plan.name}
      </code>,
    ],
    [
      t("fact-policy"),
      plan.policy === undefined ? t("fact-no-policy") : <RevisionName key="policy" revision={plan.policy} />,
    ],
    [
      t("fact-snapshot"),
      <code key="snapshot" className="fl-name">
        {plan.snapshot}
      </code>,
    ],
    [t("fact-options"), <OptionsText key="options" options={plan.options} />],
    [
      t("fact-settle"),
      plan.settle_ps === undefined ? t("fact-no-settle") : t("about", { value: duration(plan.settle_ps / 1e12) ?? "" }),
    ],
    [t("created"), plan.created_at ? <When key="created" at={plan.created_at} /> : t("fact-not-stored")],
  ];
  return (
    <Part title={t("facts")}>
      <Table variant="vertical" withTableBorder>
        <Table.Tbody>
          {rows.map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row" w={200}>
                {name}
              </Table.Th>
              <Table.Td>{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Part>
  );
}
