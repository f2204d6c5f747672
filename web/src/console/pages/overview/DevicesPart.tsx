import { List, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { DeviceStateBadge } from "../../parts/DeviceStateBadge";
import { byNeedOfState } from "../../parts/deviceStates";
import type { FabricOverview } from "../../parts/inForce";
import { To } from "../../parts/links";
import { Panel } from "./Panel";

/** Devices of the plan in force by state, those that need a person first. */
export function DevicesPart({ overview: o }: { overview: FabricOverview }) {
  const { t } = useTranslation("overview");
  const states = [...o.devices].sort((a, b) => byNeedOfState(a.state, b.state));
  const all = states.reduce((n, s) => n + s.devices, 0);
  const drifted = states.find((s) => s.state === "drifted")?.devices ?? 0;
  const inSync = states.find((s) => s.state === "in-sync")?.devices ?? 0;
  return (
    <Panel title={t("devices")} name="devices">
      <Text>{t("devices-sentence", { all, drifted, inSync, other: all - drifted - inSync })}</Text>
      <List listStyleType="none" spacing="xs">
        {states.map((s) => (
          <List.Item key={s.state} data-devices={s.state}>
            <To to="/console/f/$fabric/devices" params={{ fabric: o.fabric }} search={{ state: s.state }}>
              {t("devices-in", { n: s.devices })}
            </To>{" "}
            <DeviceStateBadge state={s.state} />
          </List.Item>
        ))}
      </List>
    </Panel>
  );
}
