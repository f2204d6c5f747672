import { Group, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Said } from "../../../ui/Said";
import { StateBadge } from "../../../ui/StateBadge";
import type { Device } from "../devices/model";
import { Fields } from "./Fields";

/** What differs between desired and observed, and prerequisites that are not met with their reasons. */
export function Differences({ device: d }: { device: Device }) {
  const { t } = useTranslation("devices");
  const settings = d.differences.filter((x) => !x.prerequisite);
  const prerequisites = d.differences.filter((x) => x.prerequisite);
  if (d.differences.length === 0) {
    return (
      <Text data-differences="0">
        {d.state === "in-sync" ? <StateBadge tone="good">{t("same")}</StateBadge> : null}{" "}
        {d.read_at ? t(d.state === "in-sync" ? "same-why" : "no-difference") : t("never-read")}
      </Text>
    );
  }
  return (
    <Stack gap="md" data-differences={d.differences.length}>
      {settings.length > 0 ? <Fields differences={settings} before={t("observed")} after={t("desired")} /> : null}
      {prerequisites.map((x) => (
        <Stack key={x.field} gap={4} className="fl-panel">
          <Group gap="sm">
            <StateBadge tone={x.observed === "unknown" ? "neutral" : "warn"}>
              {x.observed === "unknown" ? t("prerequisite-unknown") : t("prerequisite")}
            </StateBadge>
            <code className="fl-name">{x.field}</code>
            <Text size="sm">{t("prerequisite-values", { desired: x.desired, observed: x.observed })}</Text>
          </Group>
          {x.reason ? (
            <Text size="sm">
              <Said said={x.said} english={x.reason} />
            </Text>
          ) : null}
          <Text size="sm" c="dimmed">
            {x.repairable ? t("prerequisite-repairable") : t("prerequisite-manual")}
          </Text>
        </Stack>
      ))}
    </Stack>
  );
}
