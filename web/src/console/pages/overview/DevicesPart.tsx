import { List, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { deviceLook, StateBadge } from "../../../ui/StateBadge";
import type { FabricOverview } from "../../parts/inForce";
import { To } from "../../parts/links";
import { Panel } from "./Panel";

/** Drift first, then what failed or does not answer; devices in sync last. */
const order: Schemas["DeviceState"][] = [
  ...(["drifted", "failed", "unreachable", "quarantined", "unknown", "rolled-back"] as const),
  ...(["clean-up-pending", "unsupported", "pending", "applying", "verifying", "in-sync"] as const),
];

/** Devices of the plan in force by state. */
export function DevicesPart({ overview: o }: { overview: FabricOverview }) {
  const { t } = useTranslation(["overview", "common"]);
  const place = (state: Schemas["DeviceState"]) => (order.includes(state) ? order.indexOf(state) : -1);
  const states = [...o.devices].sort((a, b) => place(a.state) - place(b.state));
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
            <StateBadge {...deviceLook(s.state)}>{t(`common:device.${s.state}`, { defaultValue: s.state })}</StateBadge>
          </List.Item>
        ))}
      </List>
    </Panel>
  );
}
