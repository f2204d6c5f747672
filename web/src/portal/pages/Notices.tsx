import { Chip, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../api/client";
import { keys } from "../../api/keys";
import { useSay } from "../../i18n/say";
import { Page } from "../../ui/Page";
import { Empty, QueryView } from "../../ui/states";
import { type Column, DataTable } from "../../ui/table/DataTable";
import { useActor } from "../../ui/useActor";
import { useUrlState } from "../../ui/useUrlState";
import { When } from "../../ui/When";
import { titleOf, useTenantName } from "../tenant";
import { MaintenanceNotices } from "./notices/MaintenanceNotices";

type Event = Schemas["Event"];

const defaults = { q: "", kind: "" };

/** Kinds of events about a tenant; others are shown with their code. */
const worded = [
  "tenant.created",
  "tenant.updated",
  "tenant.deleted",
  "tenant.member",
  "tenant.maintenance",
  "tenant.objective",
  "tenant.service-account.created",
  "tenant.service-account.deleted",
];

export default function Notices() {
  const { t } = useTranslation(["notices", "shell"]);
  const m = useTenantName();
  const events = useQuery({
    queryKey: keys.events(m.fabric, m.tenant),
    queryFn: () => eventsOf(m.fabric, m.tenant),
  });
  return (
    <Page
      title={titleOf(m, t("shell:nav.notices"))}
      answer={events.data ? <Answer events={events.data} /> : null}
      copy={{
        command: `fairlane fabric events --kind tenant. --fabric ${m.fabric}`,
        api: `GET /api/v1/fabrics/${encodeURIComponent(m.fabric)}/events`,
      }}
      ready={events.data !== undefined}
    >
      <Text>{t("rounded")}</Text>
      <MaintenanceNotices />
      <QueryView query={events}>{(list) => <Changes events={list} tenant={m.tenant} />}</QueryView>
    </Page>
  );
}

/** Events that the page shows, at most. */
const most = 1000;

/** The latest events about the tenant, newest first. Members get no others from the service, and times rounded down to the minute. */
async function eventsOf(fabric: string, tenant: string): Promise<Event[]> {
  const query = { kind: "tenant.", subject: tenant, order: "newest", limit: most } as const;
  const { items } = await data<Schemas["EventList"]>(
    client.GET("/api/v1/fabrics/{fabric}/events", { params: { path: { fabric }, query } }),
  );
  return items;
}

function Answer({ events }: { events: Event[] }) {
  const { t } = useTranslation("notices");
  const last = events[0];
  return last ? (
    <>
      {t("answer", { n: events.length })}
      <When at={last.at} />
    </>
  ) : (
    t("answer-none")
  );
}

function Changes({ events, tenant }: { events: Event[]; tenant: string }) {
  const { t } = useTranslation("notices");
  const [url, setUrl] = useUrlState(defaults);
  const kinds = useMemo(() => [...new Set(events.map((e) => e.kind))].sort(), [events]);
  const rows = useMemo(() => events.filter((e) => url.kind === "" || e.kind === url.kind), [events, url.kind]);
  const columns = useColumns();
  if (events.length === 0) return <Empty title={t("empty")} why={t("empty-why")} />;
  return (
    <>
      {events.length === most ? <Text size="sm">{t("latest-only", { n: most })}</Text> : null}
      <Group gap="xs" role="group" aria-label={t("kinds")}>
        <Chip.Group value={url.kind} onChange={(kind) => setUrl({ kind: String(kind) })}>
          {["", ...kinds].map((kind) => (
            <Chip key={kind} value={kind} size="sm">
              {kind === "" ? t("kind-all") : kindText(t, kind)}
            </Chip>
          ))}
        </Chip.Group>
      </Group>
      <DataTable
        caption={t("table")}
        rows={rows}
        columns={columns}
        rowId={(e) => String(e.id)}
        filter={url.q}
        onFilter={(q) => setUrl({ q })}
        csvName={`fairlane-${tenant}-changes`}
        count={(shown, total) => t("count", { shown, total })}
      />
    </>
  );
}

type T = (key: string) => string;

const kindText = (t: T, kind: string) => (worded.includes(kind) ? t(`kind.${kind}`) : kind);

function useColumns(): Column<Event>[] {
  const { t } = useTranslation("notices");
  const actor = useActor();
  const say = useSay();
  return useMemo(
    () => [
      { id: "what", header: t("what"), value: (e) => say(e.said, e.message), width: 20 },
      { id: "at", header: t("when"), value: (e) => e.at, cell: (e) => <When at={e.at} />, width: 8 },
      { id: "kind", header: t("kind"), value: (e) => kindText(t, e.kind), width: 8 },
      { id: "actor", header: t("actor"), value: (e) => actor(e.actor), width: 8 },
    ],
    [t, say, actor],
  );
}
