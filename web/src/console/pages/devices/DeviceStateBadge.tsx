import { useTranslation } from "react-i18next";
import { deviceLook, StateBadge } from "../../../ui/StateBadge";

/** The state of a device outside of a rollout's page. */
export function DeviceStateBadge({ state }: { state: string }) {
  const { t } = useTranslation("common");
  const look = deviceLook(state);
  return (
    <span data-device-state={state}>
      <StateBadge tone={look.tone} icon={look.icon}>
        {t(`device.${state}`, state)}
      </StateBadge>
    </span>
  );
}
