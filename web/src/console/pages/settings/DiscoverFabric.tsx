import { Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "../../../api/keys";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useOperationKey } from "../../../ui/useOperationKey";
import { discover } from "./fabricForm";
import { SnapshotFacts } from "./SnapshotFacts";

/** Reads the fabric again. It changes no device. */
export function DiscoverFabric({ fabric, onClose }: { fabric: string; onClose: () => void }) {
  const { t } = useTranslation("settings");
  const cache = useQueryClient();
  const [done, setDone] = useState(0);
  const key = useOperationKey([fabric, done]);
  const run = useMutation({
    mutationFn: () => discover(fabric, key),
    onSuccess: () => {
      setDone(done + 1);
      for (const queryKey of [keys.fabrics(), keys.everything(fabric)]) void cache.invalidateQueries({ queryKey });
    },
  });
  const s = run.data;
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("discover-fabric", { fabric })}
      effect={s ? t("discover-again", { fabric }) : t("discover-fabric", { fabric })}
      busy={run.isPending}
      problem={run.error ?? undefined}
      onConfirm={() => run.mutate()}
    >
      <Stack gap="sm">
        <Text>{t("discover-why")}</Text>
        {s ? (
          <div role="status">
            <Text>{t("discovered", { fabric })}</Text>
            <SnapshotFacts snapshot={s} />
          </div>
        ) : null}
      </Stack>
    </TypedConfirm>
  );
}
