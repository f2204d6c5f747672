import { Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { keys } from "../../../api/keys";
import { QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { useWhatIf } from "../../parts/plans";
import { SharesTable } from "../../parts/SharesTable";
import type { Tenant } from "../tenants/queries";

type Props = { fabric: string; tenant: Tenant; etag: string; onClose: () => void };

/** Deletes a tenant after its name was typed, and shows before what the others would get. */
export function DeleteTenant({ fabric, tenant, etag, onClose }: Props) {
  const { t } = useTranslation("tenant");
  const navigate = useNavigate();
  const cache = useQueryClient();
  const preview = useWhatIf(fabric, [`remove:${tenant.name}`]);
  const remove = useMutation({
    mutationFn: () =>
      data(
        client.DELETE("/api/v1/fabrics/{fabric}/tenants/{tenant}", {
          params: { path: { fabric, tenant: tenant.name }, header: { "If-Match": etag } },
        }),
      ),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: keys.tenants(fabric) });
      void navigate({ to: "/console/f/$fabric/tenants", params: { fabric } as never });
    },
  });
  return (
    <TypedConfirm
      opened
      danger
      onClose={onClose}
      title={t("delete-title", { tenant: tenant.name })}
      type={tenant.name}
      effect={t("delete-effect", { tenant: tenant.name })}
      busy={remove.isPending}
      disabled={preview.isFetching}
      problem={remove.error ?? undefined}
      onConfirm={() => remove.mutate()}
    >
      <Stack gap="sm">
        <Text>{t("delete-what", { ports: tenant.attachments.length })}</Text>
        <Text>{t("delete-back")}</Text>
        <QueryView query={preview}>
          {(w) => <SharesTable before={w.before.tenants} after={w.after.tenants} csvName={`${fabric}-what-if`} />}
        </QueryView>
      </Stack>
    </TypedConfirm>
  );
}
