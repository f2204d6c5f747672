import { Radio, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useSay } from "../../../i18n/say";
import { Partial, QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useOperationKey } from "../../../ui/useOperationKey";
import { Names } from "../../parts/links";
import { Fields } from "../device/Fields";
import { useOpenRollout } from "../rollout/queries";

type To = "baseline" | "factory";
type Preview = Schemas["ReleasePreview"];
type Returning = Schemas["ReturningDevice"];

/** Releases the fabric: what each device would return to, which placements go, then the fabric's name. */
export function ReleaseFabric({ fabric, onClose }: { fabric: string; onClose: () => void }) {
  const { t } = useTranslation("rollouts");
  const open = useOpenRollout(fabric);
  const cache = useQueryClient();
  const [to, setTo] = useState<To>("baseline");
  const key = useOperationKey([fabric, "release", to]);
  const release = useMutation({
    mutationFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/release", {
          params: { path: { fabric }, header: { "Idempotency-Key": key } },
          body: { to },
        }),
      ) as Promise<Schemas["Rollout"]>,
    onSuccess: (ro) => {
      void cache.invalidateQueries({ queryKey: keys.fabrics() });
      open(ro);
    },
  });
  const preview = useQuery({
    queryKey: keys.baseline(fabric, "release", to),
    queryFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/release", {
          params: { path: { fabric }, query: { dry_run: true } },
          body: { to },
        }),
      ) as Promise<Preview>,
    enabled: release.isIdle, // once sent, it would be refused: a rollout runs
    retry: false,
    staleTime: 60_000, // reads every device
  });
  const n = preview.data?.devices.filter((d) => !d.missing).length ?? 0;
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("release-title", { fabric })}
      effect={t("release-do", { devices: n, to })}
      type={fabric}
      danger
      busy={release.isPending}
      problem={release.error ?? undefined}
      disabled={!preview.data || preview.isFetching}
      onConfirm={() => release.mutate()}
    >
      <Stack gap="md" data-release={to}>
        <Text>{t("release-effect")}</Text>
        <Radio.Group label={t("release-to")} value={to} onChange={(v) => setTo(v as To)}>
          <Stack gap="xs" mt="xs">
            <Radio value="baseline" label={t("release-baseline")} />
            <Radio value="factory" label={t("release-factory")} />
          </Stack>
        </Radio.Group>
        <QueryView query={preview}>{(p) => <What preview={p} />}</QueryView>
        <Text size="sm">{t("release-back")}</Text>
      </Stack>
    </TypedConfirm>
  );
}

/** What the release changes. */
function What({ preview: p }: { preview: Preview }) {
  const { t } = useTranslation(["rollouts", "common"]);
  const say = useSay();
  const missing = p.devices.filter((d) => d.missing || d.error);
  const unknown = p.devices.filter((d) => d.origin === "unknown");
  const tenants = [...new Set(p.placements.map((x) => x.tenant))].sort();
  const columns = useMemo<Column<Returning>[]>(
    () => [
      { id: "device", header: t("common:device"), value: (d) => d.name },
      { id: "kind", header: t("common:kind"), value: (d) => t(`common:kind.${d.kind}`) },
      { id: "changes", header: t("release-changes"), align: "end", value: (d) => d.changes.length },
      {
        id: "note",
        header: t("release-note"),
        value: (d) =>
          d.error ? say(d.error_said, d.error) : d.missing ? t("release-missing") : d.note && say(d.note_said, d.note),
        missing: "",
      },
    ],
    [t, say],
  );
  return (
    <Stack gap="sm">
      <Title order={3}>{t("release-what")}</Title>
      <Text size="sm" role="status">
        {t("release-sentence", {
          settings: p.devices.reduce((sum, d) => sum + d.changes.length, 0),
          devices: p.devices.filter((d) => d.changes.length > 0).length,
          placements: p.placements.length,
          waves: p.waves.length,
        })}
        {t("gap")}
        {tenants.length > 0 ? <Names names={tenants} most={6} /> : null}
      </Text>
      {missing.length > 0 ? <Partial>{t("release-unreachable", { n: missing.length })}</Partial> : null}
      {unknown.length > 0 ? <Partial>{t("release-unknown", { n: unknown.length })}</Partial> : null}
      <DataTable
        caption={t("release-what")}
        rows={p.devices}
        columns={columns}
        rowId={(d) => d.id}
        expanded={(d) => <Fields differences={d.changes} before={t("release-now")} after={t("release-then")} />}
        maxHeight="18rem"
        filterLabel={p.devices.length > 10 ? t("devices-filter") : ""}
      />
    </Stack>
  );
}
