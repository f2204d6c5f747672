import { useTranslation } from "react-i18next";
import { deviceLook, StateBadge } from "../../ui/StateBadge";

/** The state of a device. `children` replaces its word where the page has a more exact one. */
export function DeviceStateBadge({ state, children }: { state: string; children?: React.ReactNode }) {
  const { t } = useTranslation("common");
  return (
    <span data-device-state={state}>
      <StateBadge {...deviceLook(state)}>{children ?? t(`words:device.${state}`, state)}</StateBadge>
    </span>
  );
}
