import { Table } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { StateBadge } from "../../../ui/StateBadge";
import { DeviceName, Names } from "../../parts/links";
import { useFigures } from "../../parts/useFigures";

/** The waves of a rollout that has not started. */
export function Waves({ waves }: { waves: Schemas["RolloutWave"][] }) {
  const { t } = useTranslation("plans");
  const { number } = useFigures();
  return (
    <Table.ScrollContainer
      minWidth={420}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, role: "region", "aria-label": t("waves") } }}
    >
      <Table verticalSpacing={4} data-waves={waves.length}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t("wave")}</Table.Th>
            <Table.Th scope="col">{t("wave-kind")}</Table.Th>
            <Table.Th scope="col" ta="end">
              {t("count")}
            </Table.Th>
            <Table.Th scope="col">{t("devices")}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {waves.map((w, i) => (
            <Table.Tr key={w.devices.join(" ")}>
              <Table.Th scope="row" fw={500}>
                {number(i + 1)}
              </Table.Th>
              <Table.Td>{w.canary ? <StateBadge tone="info">{t("canary")}</StateBadge> : t("wave-plain")}</Table.Td>
              <Table.Td ta="end" className="fl-numeric">
                {number(w.devices.length)}
              </Table.Td>
              <Table.Td>
                <Names names={w.devices} of={DeviceName} most={6} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
