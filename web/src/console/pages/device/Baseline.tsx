import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { keys } from "../../../api/keys";
import { Said } from "../../../ui/Said";
import { Partial, QueryView } from "../../../ui/states";
import { When } from "../../../ui/When";
import { RolloutName } from "../../parts/links";
import { Fields } from "./Fields";

/** What the device held before Fairlane, against the plan in force. */
export function Baseline({ fabric, device }: { fabric: string; device: string }) {
  const { t } = useTranslation("devices");
  const query = useQuery({
    queryKey: keys.baseline(fabric, device, "plan"),
    queryFn: () =>
      data(
        client.GET("/api/v1/fabrics/{fabric}/baseline", {
          params: { path: { fabric }, query: { device, against: "plan" } },
        }),
      ),
  });
  return (
    <QueryView query={query}>
      {({ items: [b] }) =>
        b ? (
          <Stack gap="sm" data-baseline={b.origin}>
            <Text size="sm">
              {t("baseline-recorded")} <When at={b.recorded_at} />
              {t("separator")}
              <RolloutName id={b.rollout} />
            </Text>
            {b.origin === "unknown" ? (
              <Partial>{b.note ? <Said said={b.note_said} english={b.note} /> : t("baseline-unknown")}</Partial>
            ) : null}
            <Text size="sm">{b.held ? t("baseline-held") : t("baseline-not-held")}</Text>
            {b.error ? (
              <Text size="sm">
                <Said said={b.error_said} english={b.error} />
              </Text>
            ) : null}
            {b.differences ? (
              <Fields differences={b.differences} before={t("plan-in-force")} after={t("baseline")} />
            ) : null}
          </Stack>
        ) : (
          <Text c="dimmed">{t("baseline-none")}</Text>
        )
      }
    </QueryView>
  );
}
