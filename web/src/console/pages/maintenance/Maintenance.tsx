import { Group } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { all, client, data } from "../../../api/client";
import { keys } from "../../../api/keys";
import { announced } from "../../../format/announced";
import { useFormat } from "../../../format/useFormat";
import { useLanguage } from "../../../i18n";
import { useCan } from "../../../shell/me";
import { Quote } from "../../../ui/Said";
import { maintenanceLook, StateBadge } from "../../../ui/StateBadge";
import { Empty, QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { Why } from "../../../ui/Why";
import { ActionButton } from "../../parts/ActionButton";
import { Part } from "../../parts/Part";
import type { Maintenance as Announced } from "./draft";
import { MaintenanceDialog } from "./MaintenanceDialog";

/** Manages announcements of maintenance, which tenants read in the portal. */
export function Maintenance({ fabric }: { fabric: string }) {
  const { t } = useTranslation("maintenance");
  const can = useCan();
  const [editing, setEditing] = useState<Announced | "new">();
  const [ending, setEnding] = useState<Announced>();
  const mayRead = can("maintenance", "read", fabric);
  const mayWrite = can("maintenance", "write", fabric);
  const list = useQuery({
    queryKey: keys.maintenance(fabric),
    queryFn: () =>
      all((cursor) =>
        data(
          client.GET("/api/v1/fabrics/{fabric}/maintenance", {
            params: { path: { fabric }, query: { ended: true, limit: 1000, cursor } },
          }),
        ),
      ),
    enabled: mayRead,
  });
  if (!mayRead) return null;
  return (
    <Part
      title={t("title")}
      aside={
        <ActionButton variant="default" allowed={mayWrite} onClick={() => setEditing("new")}>
          {t("add")}
        </ActionButton>
      }
    >
      <QueryView query={list}>
        {(items) => <MaintenanceTable items={items} may={mayWrite} onEdit={setEditing} onEnd={setEnding} />}
      </QueryView>
      {editing ? (
        <MaintenanceDialog
          fabric={fabric}
          old={editing === "new" ? undefined : editing}
          onClose={() => setEditing(undefined)}
        />
      ) : null}
      {ending ? <CancelMaintenance fabric={fabric} old={ending} onClose={() => setEnding(undefined)} /> : null}
    </Part>
  );
}

type TableProps = {
  items: Announced[];
  may: boolean;
  onEdit: (m: Announced) => void;
  onEnd: (m: Announced) => void;
};

function MaintenanceTable({ items, may, onEdit, onEnd }: TableProps) {
  const { t } = useTranslation(["maintenance", "common"]);
  const language = useLanguage();
  const { absolute, list } = useFormat();
  const columns = useMemo<Column<Announced>[]>(() => {
    const scope = (m: Announced) => list([...(m.scope.tenants ?? []), ...(m.scope.places ?? [])]) || t("whole");
    const state = (m: Announced) => t(`state.${m.state}`, { defaultValue: m.state });
    const time = (at: string) => <time dateTime={at}>{absolute(Date.parse(at))}</time>;
    return [
      {
        id: "text",
        header: t("text"),
        value: (m) => announced(m.text, language),
        cell: (m) => <Quote>{announced(m.text, language)}</Quote>,
      },
      {
        id: "state",
        header: t("common:state"),
        value: state,
        cell: (m) => (
          <StateBadge tone={maintenanceLook(m.state).tone} icon={maintenanceLook(m.state).icon}>
            {state(m)}
          </StateBadge>
        ),
      },
      { id: "starts", header: t("starts"), value: (m) => m.starts_at, cell: (m) => time(m.starts_at) },
      { id: "ends", header: t("ends"), value: (m) => m.ends_at, cell: (m) => time(m.ends_at) },
      { id: "scope", header: t("scope"), value: scope },
      {
        id: "touches",
        header: t("touches"),
        value: (m) => m.touches.length,
        align: "end",
        cell: (m) => (
          <Why
            reasoning={{
              of: t("touches"),
              value: m.touches.length,
              sentence: t("why-touches"),
              inputs: [
                { name: t("scope"), value: <span className="fl-name">{scope(m)}</span> },
                { name: t("touches"), value: <span className="fl-name">{list(m.touches) || t("common:none")}</span> },
              ],
              at: m.updated_at,
            }}
          >
            {m.touches.length}
          </Why>
        ),
      },
      {
        id: "actions",
        header: t("actions"),
        missing: "",
        cell: (m) =>
          m.state === "ended" || m.state === "canceled" ? undefined : (
            <Group gap="xs" wrap="nowrap">
              <ActionButton
                size="compact-sm"
                variant="default"
                allowed={may}
                aria-label={t("edit-of", { starts: absolute(Date.parse(m.starts_at)) })}
                onClick={() => onEdit(m)}
              >
                {t("edit")}
              </ActionButton>
              <ActionButton
                size="compact-sm"
                variant="default"
                allowed={may}
                aria-label={t("cancel-of", { starts: absolute(Date.parse(m.starts_at)) })}
                onClick={() => onEnd(m)}
              >
                {t("cancel")}
              </ActionButton>
            </Group>
          ),
      },
    ];
  }, [t, language, absolute, list, may, onEdit, onEnd]);
  return (
    <DataTable
      caption={t("title")}
      rows={items}
      columns={columns}
      rowId={(m) => m.id}
      filterLabel={items.length < 12 ? "" : t("filter")}
      empty={<Empty title={t("none")} why={t("none-why")} />}
      maxHeight="20rem"
      columnMenu
    />
  );
}

function CancelMaintenance({ fabric, old, onClose }: { fabric: string; old: Announced; onClose: () => void }) {
  const { t } = useTranslation("maintenance");
  const { absolute } = useFormat();
  const cache = useQueryClient();
  const end = useMutation({
    mutationFn: () =>
      data(
        client.DELETE("/api/v1/fabrics/{fabric}/maintenance/{maintenance}", {
          params: { path: { fabric, maintenance: old.id }, header: { "If-Match": `"${old.version}"` } },
        }),
      ),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: keys.maintenance(fabric) });
      onClose();
    },
  });
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("cancel-title")}
      effect={t("cancel")}
      keep={t("keep")}
      onConfirm={() => end.mutate()}
      busy={end.isPending}
      problem={end.error}
    >
      {t("cancel-what", {
        starts: absolute(Date.parse(old.starts_at)),
        ends: absolute(Date.parse(old.ends_at)),
        n: old.touches.length,
      })}
    </TypedConfirm>
  );
}
