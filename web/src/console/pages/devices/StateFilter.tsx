import { Button, Group } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Icon } from "../../../ui/icons";
import { deviceLook } from "../../../ui/StateBadge";
import { byState, type Device } from "./model";

type Props = { devices: Device[]; state: string; onState: (state: string) => void };

/** Counts by state. A press shows the devices of one state only. */
export function StateFilter({ devices, state, onState }: Props) {
  const { t } = useTranslation(["devices", "common"]);
  const { count } = useFormat();
  const states = byState(devices);
  if (state && !states.some(([s]) => s === state)) states.push([state, 0]);
  return (
    <Group gap="xs" role="group" aria-label={t("by-state")}>
      {states.map(([s, n]) => (
        <Button
          key={s}
          size="compact-sm"
          variant={state === s ? "filled" : "default"}
          aria-pressed={state === s}
          data-count-state={s}
          leftSection={<Icon name={deviceLook(s).icon} size={14} />}
          onClick={() => onState(state === s ? "" : s)}
        >
          {t("state-count", { state: t(`words:device.${s}`, s), n: count(n) })}
        </Button>
      ))}
    </Group>
  );
}
