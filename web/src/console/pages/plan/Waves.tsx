import { Table } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { StateBadge } from "../../../ui/StateBadge";
import { DeviceName, Names } from "../../parts/links";
import { ScrollTable } from "../../parts/ScrollTable";
import { useFigures } from "../../parts/useFigures";

/** The waves of a rollout that has not started. */
export function Waves({ waves }: { waves: Schemas["RolloutWave"][] }) {
  const { t } = useTranslation("plans");
  const { number } = useFigures();
  return (
    <ScrollTable
      label={t("waves")}
      minWidth={420}
      head={[t("wave"), t("wave-kind"), { end: t("count") }, t("devices")]}
      data-waves={waves.length}
    >
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
    </ScrollTable>
  );
}
