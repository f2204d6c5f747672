import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Icon } from "../../../ui/icons";
import { DeviceName, Names } from "../../parts/links";
import { type Device, driftedOf } from "./model";

/** Names the devices that have drifted, and says which are repaired automatically. */
export function DriftBanner({ devices, onShow }: { devices: Device[]; onShow: (state: string) => void }) {
  const { t } = useTranslation("devices");
  const drifted = driftedOf(devices);
  const [first] = drifted;
  if (!first) return null;
  const repaired = drifted.filter((d) => d.policy === "repair" && d.state === "drifted").length;
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<Icon name="warning" />}
      title={t("banner", { n: drifted.length })}
      data-drift={drifted.length}
    >
      <Stack gap="xs">
        <Text size="sm">
          <Names names={drifted.map((d) => d.name)} of={DeviceName} most={6} />
        </Text>
        <Text size="sm">{t("banner-why", { repaired, rest: drifted.length - repaired })}</Text>
        <Group>
          <Button size="compact-sm" variant="default" onClick={() => onShow(first.state)}>
            {t("banner-show")}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
