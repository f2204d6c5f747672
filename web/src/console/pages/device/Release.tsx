import { Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useOperationKey } from "../../../ui/useOperationKey";
import type { Device } from "../devices/model";
import { useDevicesChanged } from "../devices/queries";

/** Ends the quarantine of a device. */
export function Release({ fabric, device: d, onClose }: { fabric: string; device: Device; onClose: () => void }) {
  const { t } = useTranslation("devices");
  const changed = useDevicesChanged(fabric);
  const key = useOperationKey([fabric, d.id, d.quarantined_at]);
  const release = useMutation({
    mutationFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/devices/{device}/release", {
          params: { path: { fabric, device: d.id }, header: { "Idempotency-Key": key } },
        }),
      ),
    onSuccess: onClose,
    onSettled: changed,
  });
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("release-title", { device: d.name })}
      effect={t("release-do")}
      busy={release.isPending}
      problem={release.error ?? undefined}
      onConfirm={() => release.mutate()}
    >
      <Text>{t("release-effect", { n: d.incidents ?? 0, policy: d.policy ?? "report" })}</Text>
      <Text size="sm">{t("release-back")}</Text>
    </TypedConfirm>
  );
}
