import { List, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useOperationKey } from "../../../ui/useOperationKey";
import { When } from "../../../ui/When";
import { type Device, repairable } from "../devices/model";
import { useDevicesChanged, useReadNow } from "../devices/queries";
import { useOpenRollout } from "../rollout/queries";
import { Fields } from "./Fields";

type Props = { fabric: string; device: Device; onClose: () => void };

/** Repairs a device: reads it, shows what would be written, and starts a rollout to this device alone. */
export function Repair({ fabric, device: d, onClose }: Props) {
  const { t } = useTranslation("devices");
  const open = useOpenRollout(fabric);
  const changed = useDevicesChanged(fabric);
  const reading = useReadNow(fabric, d.id, true);
  const path = { fabric, device: d.id };
  const key = useOperationKey([fabric, d.id, reading.data?.read_at]);
  const repair = useMutation({
    mutationFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/devices/{device}/repair", {
          params: { path, header: { "Idempotency-Key": key } },
        }),
      ) as Promise<Schemas["Rollout"]>,
    onSuccess: (ro) => {
      changed();
      open(ro);
    },
  });
  const refusal = useQuery({
    queryKey: keys.device(fabric, d.id, "repair"),
    queryFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/devices/{device}/repair", { params: { path, query: { dry_run: true } } }),
      ),
    enabled: repair.isIdle, // once sent, it would be refused: a rollout runs
    retry: false,
    staleTime: 0,
  });
  const writes = reading.data ? repairable(reading.data) : [];
  const left = (reading.data?.differences.length ?? 0) - writes.length;
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("repair-title", { device: d.name })}
      effect={t("repair-do", { n: writes.length, device: d.name })}
      busy={repair.isPending}
      problem={repair.error ?? refusal.error ?? undefined}
      disabled={!reading.data || reading.isFetching || writes.length === 0 || !refusal.data}
      onConfirm={() => repair.mutate()}
    >
      <QueryView query={reading}>
        {(now) => (
          <Stack gap="md" data-repair={writes.length}>
            <Text role="status">
              {t("repair-sentence", { n: writes.length })}
              {t("gap")}
              {now.read_at ? <When at={now.read_at} /> : null}
            </Text>
            {writes.length > 0 ? (
              <Fields differences={writes} before={t("observed")} after={t("repair-writes")} />
            ) : null}
            <List size="sm" spacing={4}>
              {left > 0 ? <List.Item>{t("repair-left", { n: left })}</List.Item> : null}
              <List.Item>{t("repair-how")}</List.Item>
              <List.Item>{t("repair-back")}</List.Item>
            </List>
          </Stack>
        )}
      </QueryView>
    </TypedConfirm>
  );
}
