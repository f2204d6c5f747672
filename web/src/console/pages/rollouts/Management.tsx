import { Alert, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useFabrics } from "../../../shell/fabrics";
import { useCan } from "../../../shell/me";
import { Icon } from "../../../ui/icons";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useOperationKey } from "../../../ui/useOperationKey";
import { When } from "../../../ui/When";
import { ActionButton } from "../../parts/ActionButton";

/** Says that the fabric is released, or that its release is incomplete, and offers to manage it again. */
export function Management({ fabric }: { fabric: string }) {
  const { t } = useTranslation("rollouts");
  const f = useFabrics().data?.find((x) => x.name === fabric);
  const can = useCan();
  const [asking, setAsking] = useState(false);
  if (!f || (f.management ?? "managed") === "managed") return null;
  return (
    <Alert
      color="yellow"
      variant="light"
      icon={<Icon name="lock" />}
      title={t(`management.${f.management}`)}
      data-management={f.management}
    >
      <Stack gap="sm">
        <Text size="sm">
          {t(`management-why.${f.management}`)}
          {t("gap")}
          {f.management_at ? <When at={f.management_at} /> : null}
        </Text>
        <Group>
          <ActionButton allowed={can("fabric", "write", fabric)} variant="default" onClick={() => setAsking(true)}>
            {t("manage-open")}
          </ActionButton>
        </Group>
      </Stack>
      {asking ? <ManageAgain fabric={fabric} onClose={() => setAsking(false)} /> : null}
    </Alert>
  );
}

/** Takes the fabric under management again; nothing is written to devices. */
function ManageAgain({ fabric, onClose }: { fabric: string; onClose: () => void }) {
  const { t } = useTranslation("rollouts");
  const cache = useQueryClient();
  const key = useOperationKey([fabric, "manage"]);
  const manage = useMutation({
    mutationFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/manage", {
          params: { path: { fabric }, header: { "Idempotency-Key": key } },
        }),
      ),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: keys.fabrics() });
      void cache.invalidateQueries({ queryKey: keys.everything(fabric) });
      onClose();
    },
  });
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("manage-title", { fabric })}
      effect={t("manage-do")}
      busy={manage.isPending}
      problem={manage.error ?? undefined}
      onConfirm={() => manage.mutate()}
    >
      <Text>{t("manage-effect")}</Text>
      <Text size="sm">{t("manage-back")}</Text>
    </TypedConfirm>
  );
}
