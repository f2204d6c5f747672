import { Anchor, Button, Group, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Copyable } from "../../../ui/CopyAs";
import type { FabricForm } from "../settings/fabricForm";

/** What the form takes for the fabric that the command serves. */
export const simulated: FabricForm = { name: "lab", plane: "ib", source: "ibsim:unix:lab", time_scale: "0.01" };

/** How to serve a simulated fabric beside the service. The page starts nothing by itself. */
export function Simulator({ onUse, disabled }: { onUse: () => void; disabled: boolean }) {
  const { t } = useTranslation("first");
  return (
    <Stack gap="sm" data-part="simulator">
      <Text size="sm">{t("simulator-why")}</Text>
      <Copyable label={t("simulator-serve")} text="fairlane sim serve ib16 --addr unix:lab" />
      <Text size="sm">{t("simulator-allow")}</Text>
      <Copyable label={t("simulator-config")} text={'discovery:\n  sources: ["ibsim:unix:lab"]'} />
      <Text size="sm">{t("simulator-ethernet")}</Text>
      <Copyable label={t("simulator-serve-ethernet")} text="fairlane sim serve roce8 --dir lab" />
      <Group gap="md">
        <Button variant="default" disabled={disabled} onClick={onUse}>
          {t("simulator-use", { source: simulated.source })}
        </Button>
        <Anchor href="/docs/simulator#live-fabrics" underline="always">
          {t("simulator-docs")}
        </Anchor>
      </Group>
    </Stack>
  );
}
