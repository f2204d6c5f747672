import { Button, Group, Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "../../../api/keys";
import type { Fabric } from "../../../shell/fabrics";
import { useCan } from "../../../shell/me";
import { StateBadge } from "../../../ui/StateBadge";
import { Empty } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { When } from "../../../ui/When";
import { ActionButton } from "../../parts/ActionButton";
import { To } from "../../parts/links";
import { AddFabric } from "./AddFabric";
import { DeleteFabric } from "./DeleteFabric";
import { DiscoverFabric } from "./DiscoverFabric";
import { EditFabric } from "./EditFabric";
import { emptyFabric } from "./fabricForm";
import { useAddFabric } from "./useAddFabric";

type Asked = { what: "edit" | "delete" | "discover"; fabric: string };

/** The fabrics of the service, with the actions on each. */
export function Fabrics({ fabrics }: { fabrics: Fabric[] }) {
  const { t } = useTranslation("settings");
  const can = useCan();
  const [adding, setAdding] = useState(false);
  const [asked, setAsked] = useState<Asked>();
  const columns = useFabricColumns(setAsked);
  const close = () => setAsked(undefined);
  const add = (
    <ActionButton allowed={can("fabric", "write")} size="xs" onClick={() => setAdding(true)}>
      {t("fabric-add")}
    </ActionButton>
  );
  return (
    <>
      <DataTable
        caption={t("fabrics")}
        rows={fabrics}
        columns={columns}
        rowId={(f) => f.name}
        href={(f) => `/console/f/${encodeURIComponent(f.name)}/overview`}
        filterLabel={t("fabrics-filter")}
        csvName="fairlane-fabrics"
        count={(shown, total) => t("fabrics-count", { shown, total })}
        actions={add}
        empty={<Empty title={t("fabrics-none")} why={t("fabrics-none-why")} action={add} />}
      />
      {adding ? <AddDialog onClose={() => setAdding(false)} /> : null}
      {asked?.what === "discover" ? <DiscoverFabric fabric={asked.fabric} onClose={close} /> : null}
      {asked?.what === "edit" ? <EditFabric fabric={asked.fabric} onClose={close} /> : null}
      {asked?.what === "delete" ? <DeleteFabric fabric={asked.fabric} onClose={close} /> : null}
    </>
  );
}

function useFabricColumns(onAsk: (asked: Asked) => void): Column<Fabric>[] {
  const { t } = useTranslation(["settings", "common"]);
  return useMemo<Column<Fabric>[]>(
    () => [
      { id: "name", header: t("common:name"), value: (f) => f.name },
      {
        id: "source",
        header: t("source"),
        value: (f) => f.source || undefined,
        cell: (f) => (
          <>
            {t(`common:plane.${f.plane}`)}
            <br />
            <code>{f.source}</code>
          </>
        ),
        missing: "",
      },
      { id: "plane", header: t("plane"), value: (f) => t(`common:plane.${f.plane}`), hidden: true },
      {
        id: "snapshot",
        header: t("size"),
        value: (f) =>
          f.snapshot
            ? t("snapshot", { switches: f.snapshot.switches, hosts: f.snapshot.hosts, links: f.snapshot.links })
            : undefined,
        missing: t("undiscovered"),
      },
      {
        id: "seen",
        header: t("seen"),
        value: (f) => f.snapshot?.seen_at,
        cell: (f) => (f.snapshot ? <When at={f.snapshot.seen_at} /> : t("common:never")),
        missing: t("common:never"),
        hidden: true,
      },
      {
        id: "management",
        header: t("management"),
        value: (f) => t(`management.${f.management ?? "managed"}`),
        cell: (f) => <ManagementBadge state={f.management ?? "managed"} />,
      },
      { id: "actions", header: t("actions"), cell: (f) => <RowActions fabric={f.name} onAsk={onAsk} /> },
    ],
    [t, onAsk],
  );
}

function ManagementBadge({ state }: { state: NonNullable<Fabric["management"]> }) {
  const { t } = useTranslation("settings");
  return (
    <StateBadge tone={state === "managed" ? "good" : "neutral"} icon={state === "managed" ? "check" : "lock"}>
      {t(`management.${state}`)}
    </StateBadge>
  );
}

function RowActions({ fabric, onAsk }: { fabric: string; onAsk: (asked: Asked) => void }) {
  const { t } = useTranslation("settings");
  const can = useCan();
  const rights = {
    discover: can("fabric", "run", fabric),
    edit: can("fabric", "write"), // on all fabrics: another source may lead to the devices of another fabric
    delete: can("fabric", "write", fabric),
  };
  return (
    <Group gap="xs" wrap="nowrap">
      {(["discover", "edit", "delete"] as const).map((what) => (
        <ActionButton
          key={what}
          allowed={rights[what]}
          size="compact-sm"
          variant="default"
          aria-label={t(`${what}-fabric`, { fabric })}
          onClick={() => onAsk({ what, fabric })}
        >
          {t(`short.${what}`)}
        </ActionButton>
      ))}
    </Group>
  );
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(["settings", "shell", "common"]);
  const cache = useQueryClient();
  const [form, setForm] = useState(emptyFabric);
  const changed = () => void cache.invalidateQueries({ queryKey: keys.fabrics() });
  const adding = useAddFabric(form, changed);
  const close = () => {
    if (adding.added) changed();
    onClose();
  };
  return (
    <Modal
      opened
      onClose={close}
      size="60rem"
      title={t("fabric-add")}
      closeOnClickOutside={false}
      closeButtonProps={{ "aria-label": t("shell:close") }}
    >
      <AddFabric
        form={form}
        onForm={setForm}
        adding={adding}
        next={
          <Group gap="md">
            <To to="/console/f/$fabric/overview" params={{ fabric: adding.added ?? "" }}>
              {t("open-fabric", { fabric: adding.added ?? "" })}
            </To>
            <Button variant="default" onClick={close}>
              {t("common:close")}
            </Button>
          </Group>
        }
      />
    </Modal>
  );
}
