import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Icon } from "../../../ui/icons";
import { DeviceName, Names } from "../../parts/links";
import { byNeed, type Device } from "./model";

/** Names the devices that drifted, and what is done about them. */
export function DriftBanner({ devices, onShow }: { devices: Device[]; onShow: () => void }) {
  const { t } = useTranslation("devices");
  const drifted = devices.filter((d) => d.state === "drifted" || d.state === "quarantined").sort(byNeed);
  if (drifted.length === 0) return null;
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
          <Button size="compact-md" variant="default" onClick={onShow}>
            {t("banner-show")}
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
