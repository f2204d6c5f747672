import { Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../format/useFormat";
import { Fact, Facts } from "../../ui/Facts";
import { Page } from "../../ui/Page";
import { measuredLook, portLook, StateBadge } from "../../ui/StateBadge";
import { Empty, Partial, QueryView } from "../../ui/states";
import { type Column, DataTable } from "../../ui/table/DataTable";
import { sortOf, sortText } from "../../ui/table/sort";
import { useUrlState } from "../../ui/useUrlState";
import { When } from "../../ui/When";
import { useEndpoints } from "../endpoints";
import { apiOf, type Now, type Tenant, titleOf, useNowFigures, useTenant, useTenantName } from "../tenant";
import { type Endpoint, type EndpointPages, statesOf } from "./endpoints/states";

const defaults = { q: "", sort: "" };

export default function Endpoints() {
  const { t } = useTranslation(["endpoints", "shell", "common"]);
  const m = useTenantName();
  const tenant = useTenant();
  const now = useNowFigures();
  const ports = useEndpoints();
  return (
    <Page
      title={titleOf(m, t("shell:nav.endpoints"))}
      answer={ports.data ? t("answer-states", statesOf(ports.data.items)) : null}
      copy={{
        command: `fairlane tenant endpoints ${m.tenant} --fabric ${m.fabric}`,
        api: `GET ${apiOf(m)}/endpoints`,
      }}
      ready={tenant.data !== undefined && ports.data !== undefined && !now.isPending}
    >
      <QueryView query={tenant}>{({ body }) => <TenantFacts tenant={body} now={now.data} />}</QueryView>
      <Text>{t("rounded")}</Text>
      <QueryView query={ports}>{(list) => <EndpointList ports={list} tenant={m.tenant} />}</QueryView>
    </Page>
  );
}

/** Partition, classes and the measured state, which is one for all ports. */
function TenantFacts({ tenant, now }: { tenant: Tenant; now: Now | undefined }) {
  const { t } = useTranslation(["endpoints", "common"]);
  const { list } = useFormat();
  const state = now?.state ?? "not-measured";
  const look = measuredLook(state);
  return (
    <Facts>
      <Fact name={t("pkey")}>
        <code>{tenant.pkey || t("common:none")}</code>
      </Fact>
      <Fact name={t("classes")}>{list(tenant.classes.map((c) => c.name)) || t("common:none")}</Fact>
      <Fact name={t("state")}>
        <StateBadge tone={look.tone} icon={look.icon}>
          {t(`common:measured.${state}`, { defaultValue: state })}
        </StateBadge>
      </Fact>
      <Fact name={t("seen")}>{now?.measured_at ? <When at={now.measured_at} /> : t("common:not-measured")}</Fact>
    </Facts>
  );
}

function EndpointList({ ports, tenant }: { ports: EndpointPages; tenant: string }) {
  const { t } = useTranslation("endpoints");
  const [url, setUrl] = useUrlState(defaults);
  const columns = useColumns();
  return (
    <>
      {ports.series === "partial" || ports.series === "away" ? <Partial>{t("series-partial")}</Partial> : null}
      <DataTable
        caption={t("table")}
        rows={ports.items}
        columns={columns}
        rowId={(a) => a.port}
        filter={url.q}
        onFilter={(q) => setUrl({ q })}
        sort={sortOf(url.sort)}
        onSort={(s) => setUrl({ sort: sortText(s) })}
        csvName={`fairlane-${tenant}-endpoints`}
        count={(shown, total) => t("count", { shown, total })}
        empty={<Empty title={t("empty")} why={t("empty-why")} />}
      />
    </>
  );
}

function useColumns(): Column<Endpoint>[] {
  const { t } = useTranslation(["endpoints", "common"]);
  const { list, rate, count } = useFormat();
  return useMemo(() => {
    const state = (e: Endpoint) => t(`state.${e.state}`, { defaultValue: e.state });
    return [
      { id: "name", header: t("name"), value: (e) => e.name, missing: t("no-name"), width: 9 },
      { id: "port", header: t("port"), value: (e) => e.port, cell: (e) => <code>{e.port}</code>, width: 12 },
      {
        id: "state",
        header: t("state-port"),
        value: state,
        cell: (e) => (
          <StateBadge tone={portLook(e.state).tone} icon={portLook(e.state).icon}>
            {state(e)}
          </StateBadge>
        ),
        width: 7,
      },
      {
        id: "since",
        header: t("since"),
        value: (e) => e.state_since,
        cell: (e) => (e.state_since ? <When at={e.state_since} /> : undefined),
        missing: t("since-first"),
        width: 8,
        minor: true,
      },
      {
        id: "seen",
        header: t("seen-port"),
        value: (e) => e.seen_at,
        cell: (e) => (e.seen_at ? <When at={e.seen_at} /> : undefined),
        missing: t("common:never"),
        width: 8,
        minor: true,
      },
      { id: "classes", header: t("classes-of"), value: (e) => list(e.classes), missing: t("classes-none"), width: 8 },
      { id: "sl", header: t("sl"), value: (e) => e.sl, align: "end", missing: t("sl-compiler") },
      {
        id: "functions",
        header: t("functions"),
        value: (e) => e.functions,
        cell: (e) => {
          const sent = rate(e.functions_sent_bps);
          if (e.functions === undefined || sent === undefined) return count(e.functions);
          return t("functions-sent", { n: e.functions, sent });
        },
        missing: t("functions-none"),
        align: "end",
      },
    ];
  }, [t, list, rate, count]);
}
