import { Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../../api/client";
import { useFormat } from "../../../format/useFormat";
import { measuredLook, StateBadge } from "../../../ui/StateBadge";
import { Empty } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { NotMeasured } from "../../../ui/values";
import { TenantName } from "../../parts/links";
import { percentColumn, rateColumn } from "./columns";
import { byWorst, edgeId, type FabricMap, type Meeting, type SetUrl } from "./model";

type Tenant = Schemas["MeetingTenant"];

/** The measured state of a tenant. */
function MeasuredBadge({ state }: { state: string | undefined }) {
  const { t } = useTranslation("common");
  if (!state) return <NotMeasured />;
  return <StateBadge {...measuredLook(state)}>{t(`measured.${state}`, { defaultValue: state })}</StateBadge>;
}

const received = (t: Tenant) =>
  t.entitled_bps && t.delivered_bps !== undefined ? t.delivered_bps / t.entitled_bps : undefined;

/** One contended link with its tenants, for the side panel. */
export function MeetingTenants({ meeting }: { meeting: Meeting }) {
  const { t } = useTranslation(["map", "common"]);
  const format = useFormat();
  return (
    <div className="fl-map-meeting">
      <Text size="sm" className="fl-name" fw={600}>
        {meeting.link} <span className="fl-numeric">{format.share(meeting.use) ?? t("common:not-measured")}</span>
      </Text>
      <ul className="fl-map-list">
        {meeting.tenants.map((x) => (
          <li key={x.tenant}>
            <TenantName name={x.tenant} />{" "}
            <Text span size="sm">
              {t("receives", {
                delivered: format.rate(x.delivered_bps) ?? t("common:not-measured"),
                entitled: format.rate(x.entitled_bps) ?? t("common:not-measured"),
              })}
            </Text>{" "}
            <MeasuredBadge state={x.state} />
          </li>
        ))}
      </ul>
      {meeting.more ? <Text size="sm">{t("tenants-more", { n: meeting.more })}</Text> : null}
    </div>
  );
}

type Line = { id: string; meeting: Meeting; tenant: Tenant };

/** All contended links with the tenants on them, the worst first. */
export function Meetings({
  fabric,
  map,
  filter,
  set,
}: {
  fabric: string;
  map: FabricMap;
  filter: string;
  set: SetUrl;
}) {
  const { t } = useTranslation(["map", "common"]);
  const format = useFormat();
  const lines = useMemo<Line[]>(
    () =>
      byWorst(map.tenants_meeting).flatMap((meeting) =>
        meeting.tenants.map((tenant) => ({ id: `${meeting.link} ${tenant.tenant}`, meeting, tenant })),
      ),
    [map.tenants_meeting],
  );
  const scale = useMemo(
    () => format.rateScale(lines.flatMap((l) => [l.tenant.entitled_bps, l.tenant.delivered_bps])),
    [format, lines],
  );
  const columns = useMemo<Column<Line>[]>(
    () => [
      {
        id: "link",
        header: t("common:link"),
        value: (l) => l.meeting.link,
        cell: (l) =>
          l.meeting.a && l.meeting.b ? (
            <button
              type="button"
              className="fl-textbutton fl-name"
              onClick={() => set({ edge: edgeId(l.meeting.a ?? "", l.meeting.b ?? ""), group: "" })}
            >
              {l.meeting.link}
            </button>
          ) : (
            l.meeting.link
          ),
      },
      percentColumn(format, "use", t("use"), (l) => l.meeting.use),
      {
        id: "tenant",
        header: t("common:tenant"),
        value: (l) => l.tenant.tenant,
        cell: (l) => <TenantName name={l.tenant.tenant} />,
      },
      rateColumn(scale, "entitled", t("common:entitled"), (l) => l.tenant.entitled_bps),
      rateColumn(scale, "delivered", t("common:delivered"), (l) => l.tenant.delivered_bps),
      percentColumn(format, "received", t("received"), (l) => received(l.tenant)),
      {
        id: "state",
        header: t("common:state"),
        value: (l) => (l.tenant.state ? t(`common:measured.${l.tenant.state}`) : undefined),
        cell: (l) => <MeasuredBadge state={l.tenant.state} />,
      },
    ],
    [t, format, set, scale],
  );
  return (
    <>
      <DataTable
        caption={t("who-meets-where")}
        rows={lines}
        columns={columns}
        rowId={(l) => l.id}
        filter={filter}
        onFilter={(meeting) => set({ meeting })}
        filterLabel={t("meetings-filter")}
        csvName={`${fabric}-contended-links`}
        empty={
          map.measured_at ? (
            <Empty title={t("meetings-empty")} why={t("meetings-empty-why")} />
          ) : (
            <Empty title={t("meetings-none")} why={t("meetings-none-why")} />
          )
        }
      />
      {map.more_meetings ? <Text size="sm">{t("meetings-more", { n: map.more_meetings })}</Text> : null}
    </>
  );
}
