import { Checkbox, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { keys } from "../../../api/keys";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useFabricVersion } from "./fabricForm";

/** Deletes a fabric from the service. Nothing is sent to devices: settings in force there are a reason to release it first. */
export function DeleteFabric({ fabric, onClose }: { fabric: string; onClose: () => void }) {
  const { t } = useTranslation("settings");
  const cache = useQueryClient();
  const [keep, setKeep] = useState(false);
  const version = useFabricVersion(fabric);
  const remove = useMutation({
    mutationFn: (etag: string) =>
      data(
        client.DELETE("/api/v1/fabrics/{fabric}", {
          params: {
            path: { fabric },
            query: keep ? { keep_settings: true } : {},
            header: { "If-Match": etag },
          },
        }),
      ),
    onSuccess: () => {
      cache.removeQueries({ queryKey: keys.everything(fabric) });
      void cache.invalidateQueries({ queryKey: keys.fabrics() });
      onClose();
    },
  });
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("delete-fabric", { fabric })}
      type={fabric}
      effect={t(keep ? "delete-do-keep" : "delete-do", { fabric })}
      danger
      busy={remove.isPending}
      problem={remove.error ?? version.error ?? undefined}
      disabled={version.data === undefined}
      onConfirm={() => version.data && remove.mutate(version.data.etag)}
    >
      <Stack gap="sm">
        <Text>{t("delete-why")}</Text>
        <Checkbox
          label={t("delete-keep")}
          description={t("delete-keep-is")}
          checked={keep}
          onChange={(e) => setKeep(e.currentTarget.checked)}
        />
      </Stack>
    </TypedConfirm>
  );
}
