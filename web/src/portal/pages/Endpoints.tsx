import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../api/client";
import { useFormat } from "../../format/useFormat";
import { Fact, Facts } from "../../ui/Facts";
import { Page } from "../../ui/Page";
import { measuredLook, StateBadge } from "../../ui/StateBadge";
import { Empty, QueryView } from "../../ui/states";
import { type Column, DataTable } from "../../ui/table/DataTable";
import { sortOf, sortText } from "../../ui/table/sort";
import { useUrlState } from "../../ui/useUrlState";
import { When } from "../../ui/When";
import { apiOf, type Now, type Tenant, titleOf, useNowFigures, useTenant, useTenantName } from "../tenant";

type Attachment = Schemas["Attachment"];

const defaults = { q: "", sort: "" };

export default function Endpoints() {
  const { t } = useTranslation(["endpoints", "shell", "common"]);
  const m = useTenantName();
  const tenant = useTenant();
  const now = useNowFigures();
  const n = tenant.data?.body.attachments.length;
  return (
    <Page
      title={titleOf(m, t("shell:nav.endpoints"))}
      answer={n === undefined || now.isPending ? null : t(answerOf(now.data), { n })}
      copy={{
        command: `fairlane attachment list --tenant ${m.tenant} --fabric ${m.fabric}`,
        api: `GET ${apiOf(m)}/attachments`,
      }}
      ready={n !== undefined && !now.isPending}
    >
      <QueryView query={tenant}>{({ body }) => <EndpointList tenant={body} now={now.data} />}</QueryView>
    </Page>
  );
}

/**
 * What the tenant's state says about the links of its ports: the service reports one state for all of them. A tenant that contends on one
 * link may have another that is down.
 */
function answerOf(now: Now | undefined): string {
  switch (now?.state) {
    case "path-down":
      return "answer-down";
    case "contending":
      return "answer-contending";
    case undefined:
    case "not-measured":
      return "answer-unknown";
    default:
      return "answer-up";
  }
}

function EndpointList({ tenant, now }: { tenant: Tenant; now: Now | undefined }) {
  const { t } = useTranslation(["endpoints", "common"]);
  const { list } = useFormat();
  const [url, setUrl] = useUrlState(defaults);
  const columns = useColumns();
  const state = now?.state ?? "not-measured";
  const look = measuredLook(state);
  return (
    <>
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
      <DataTable
        caption={t("table")}
        rows={tenant.attachments}
        columns={columns}
        rowId={(a) => a.port}
        filter={url.q}
        onFilter={(q) => setUrl({ q })}
        sort={sortOf(url.sort)}
        onSort={(s) => setUrl({ sort: sortText(s) })}
        csvName={`fairlane-${tenant.name}-endpoints`}
        count={(shown, total) => t("count", { shown, total })}
        empty={<Empty title={t("empty")} why={t("empty-why")} />}
      />
    </>
  );
}

function useColumns(): Column<Attachment>[] {
  const { t } = useTranslation("endpoints");
  return useMemo(
    () => [
      { id: "name", header: t("name"), value: (a) => a.name, missing: t("no-name"), width: 10 },
      { id: "port", header: t("port"), value: (a) => a.port, cell: (a) => <code>{a.port}</code>, width: 14 },
      {
        id: "sl",
        header: t("sl"),
        value: (a) => a.sl,
        align: "end",
        missing: t("sl-compiler"),
      },
    ],
    [t],
  );
}
