import { Radio, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { answer, client, type Schemas } from "../../../api/client";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import type { Device } from "../devices/model";
import { useDevicesChanged } from "../devices/queries";

type Policy = Schemas["DeviceUpdate"]["policy"];

const policies = ["inherit", "report", "repair", "freeze"] as const;

/** The drift policy of one device. */
export function PolicyForm({
  fabric,
  device: d,
  etag,
  onClose,
}: {
  fabric: string;
  device: Device;
  etag: string;
  onClose: () => void;
}) {
  const { t } = useTranslation("devices");
  const changed = useDevicesChanged(fabric);
  const before: Policy = d.policy_inherited ? "inherit" : (d.policy ?? "inherit");
  const [policy, setPolicy] = useState<Policy>(before);
  const [tag] = useState(etag); // of the device that the form began with
  const save = useMutation({
    mutationFn: () =>
      answer(
        client.PUT("/api/v1/fabrics/{fabric}/devices/{device}", {
          params: { path: { fabric, device: d.id }, header: { "If-Match": tag } },
          body: { policy },
        }),
      ),
    onSuccess: onClose,
    onSettled: changed,
  });
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("device-policy-title", { device: d.name })}
      effect={t(`device-policy-do.${policy}`, { device: d.name })}
      busy={save.isPending}
      problem={save.error ?? undefined}
      disabled={policy === before}
      onConfirm={() => save.mutate()}
    >
      <Stack gap="md">
        <Radio.Group label={t("policy-choose")} value={policy} onChange={(v) => setPolicy(v as Policy)}>
          <Stack gap="xs" mt="xs">
            {policies.map((p) => (
              <Radio key={p} value={p} label={t(`words:policy.${p}`)} description={t(`policy-sentence.${p}`)} />
            ))}
          </Stack>
        </Radio.Group>
        {policy === "repair" && d.differences.length > 0 ? (
          <Text size="sm">{t("device-policy-repairs", { n: d.differences.length })}</Text>
        ) : null}
        <Text size="sm">{t("policy-back", { policy: t(`words:policy.${before}`) })}</Text>
      </Stack>
    </TypedConfirm>
  );
}
