import { List, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { idempotencyKey } from "../../../api/client";
import { keys } from "../../../api/keys";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { discover } from "./fabricForm";

/** Reads the fabric again. It changes no device. */
export function DiscoverFabric({ fabric, onClose }: { fabric: string; onClose: () => void }) {
  const { t } = useTranslation("settings");
  const cache = useQueryClient();
  const run = useMutation({
    mutationFn: () => discover(fabric, idempotencyKey()),
    onSuccess: () => {
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
          <Text role="status">
            {t("discovered", { fabric })} {t("snapshot", { switches: s.switches, hosts: s.hosts, links: s.links })}
          </Text>
        ) : null}
        {s?.warnings?.length ? (
          <List size="sm">
            {s.warnings.map((w) => (
              <List.Item key={w} className="fl-name">
                {w}
              </List.Item>
            ))}
          </List>
        ) : null}
      </Stack>
    </TypedConfirm>
  );
}
