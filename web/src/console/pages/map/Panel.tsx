import { ActionIcon, Button, Group as Row, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Icon } from "../../../ui/icons";
import { StateBadge } from "../../../ui/StateBadge";
import { NotMeasured, Rate } from "../../../ui/values";
import { Why } from "../../../ui/Why";
import { MapBadge } from "./MapBadge";
import { MeetingTenants } from "./Meetings";
import { type Edge, edgeId, type FabricMap, type Group, joins, type Meeting, members, type SetUrl } from "./model";
import { useGroupName } from "./names";

type PanelProps = { fabric: string; map: FabricMap; set: SetUrl; onClose: () => void };

/** The frame of a panel: a heading that takes the focus when the keyboard opened it, and a button that closes it. */
function Frame({ title, onClose, children }: { title: string; onClose: () => void; children: React.ReactNode }) {
  const { t } = useTranslation("common");
  const heading = useRef<HTMLHeadingElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focus follows the selection
  useEffect(() => {
    if (document.activeElement?.hasAttribute("data-map-cursor")) heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <section
      aria-label={title}
      data-map-panel=""
      onKeyDown={(e) => {
        if (e.key === "Escape") onClose();
      }}
    >
      <Row justify="space-between" align="flex-start" wrap="nowrap" mb="sm">
        <Title order={2} ref={heading} tabIndex={-1} className="fl-name">
          {title}
        </Title>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={28}
          aria-label={t("close")}
          title={t("close")}
          onClick={onClose}
        >
          <Icon name="cross" />
        </ActionIcon>
      </Row>
      <Stack gap="md">{children}</Stack>
    </section>
  );
}

/** The highest measured use, with what it rests on. */
function WorstUse({ value, map, of }: { value: number | undefined; map: FabricMap; of: string }) {
  const { t } = useTranslation("map");
  const text = useFormat().share(value);
  if (text === undefined) return <NotMeasured />;
  return (
    <Why
      reasoning={{
        of: t("worst-use-of", { name: of }),
        value: text,
        sentence: t("worst-use-why"),
        formula: t("worst-use-formula"),
        at: map.measured_at,
      }}
    >
      <span className="fl-numeric">{text}</span>
    </Why>
  );
}

function Facts({ rows }: { rows: [string, React.ReactNode][] }) {
  return (
    <dl className="fl-map-facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A group: its members, state and links, with buttons that expand it or open its devices. */
export function GroupPanel({ fabric, map, set, onClose, group }: PanelProps & { group: Group }) {
  const { t } = useTranslation(["map", "common"]);
  const name = useGroupName();
  const title = name(group);
  const edges = map.edges.filter((e) => e.a === group.id || e.b === group.id);
  const device = members(group) === 1 ? group.name : "";
  return (
    <Frame title={title} onClose={onClose}>
      <div>
        <MapBadge state={group.state} />
      </div>
      <Facts
        rows={[
          [t("members"), t("members-are", { switches: group.switches, hosts: group.hosts })],
          [t("tier"), t("tier-is", { tier: group.tier })],
          ...(group.domain ? [[t("domain"), group.domain] as [string, React.ReactNode]] : []),
          [t("worst-use"), <WorstUse key="use" value={group.worst_use} map={map} of={title} />],
        ]}
      />
      <Row gap="xs">
        {group.more && map.expanded !== group.id ? (
          <Button onClick={() => set({ expand: group.id, group: "", edge: "" }, true)}>{t("expand")}</Button>
        ) : null}
        {device ? (
          <Button
            variant="default"
            renderRoot={(props) => (
              <Link
                {...props}
                to="/console/f/$fabric/devices"
                params={{ fabric } as never}
                search={{ filter: device } as never}
              />
            )}
          >
            {t("show-devices")}
          </Button>
        ) : group.more && map.expanded !== group.id ? (
          <Button variant="default" onClick={() => set({ expand: group.id, view: "table", group: "", edge: "" }, true)}>
            {t("show-devices")}
          </Button>
        ) : null}
      </Row>
      <EdgeList group={group} edges={edges} map={map} set={set} />
    </Frame>
  );
}

/** Links of a group, as buttons that select them; at most 12 at first, those with contention before the others. */
function EdgeList({ group, edges, map, set }: { group: Group; edges: Edge[]; map: FabricMap; set: SetUrl }) {
  const { t } = useTranslation("map");
  const name = useGroupName();
  const format = useFormat();
  const other = (e: Edge) => map.groups.find((g) => g.id === (e.a === group.id ? e.b : e.a));
  const most = 12;
  return (
    <div>
      <Text fw={600} mb={4}>
        {t("links-of", { n: edges.reduce((sum, e) => sum + e.links, 0) })}
      </Text>
      <ul className="fl-map-list">
        {edges.slice(0, most).map((e) => {
          const to = other(e);
          return (
            <li key={edgeId(e.a, e.b)}>
              <button
                type="button"
                className="fl-textbutton"
                onClick={() => set({ edge: edgeId(e.a, e.b), group: "" })}
              >
                {to ? name(to) : e.b}
              </button>{" "}
              <Text span size="sm" c="dimmed">
                {t("links-to", { n: e.links, use: format.share(e.worst_use) ?? t("common:not-measured") })}
              </Text>{" "}
              <EdgeState edge={e} />
            </li>
          );
        })}
      </ul>
      {edges.length > most ? (
        <Text size="sm" c="dimmed">
          {t("links-more", { n: edges.length - most })}
        </Text>
      ) : null}
    </div>
  );
}

/** The states of an edge that is contended or down. */
export function EdgeState({ edge }: { edge: Pick<Edge, "contended" | "down"> }) {
  const { t } = useTranslation("map");
  return (
    <>
      {edge.contended > 0 ? <StateBadge tone="warn">{t("contended-links", { n: edge.contended })}</StateBadge> : null}
      {edge.down > 0 ? (
        <StateBadge tone="bad" icon="broken">
          {t("down-links", { n: edge.down })}
        </StateBadge>
      ) : null}
    </>
  );
}

/** The links between two groups, and the tenants that meet on them. */
export function EdgePanel(p: PanelProps & { edge: Edge; names: [string, string]; meetings: Meeting[] }) {
  const { t } = useTranslation("map");
  const { edge } = p;
  const title = t("between", { a: p.names[0], b: p.names[1] });
  return (
    <Frame title={title} onClose={p.onClose}>
      {edge.contended > 0 || edge.down > 0 ? (
        <div>
          <EdgeState edge={edge} />
        </div>
      ) : null}
      <Facts
        rows={[
          [t("links"), edge.links],
          ...(edge.capacity_bps
            ? [[t("capacity"), <Rate key="c" bps={edge.capacity_bps} />] as [string, React.ReactNode]]
            : []),
          [t("worst-use"), <WorstUse key="use" value={edge.worst_use} map={p.map} of={title} />],
        ]}
      />
      <div>
        <Text fw={600} mb={4}>
          {t("who-meets")}
        </Text>
        {p.meetings.length === 0 ? (
          <Text size="sm">{edge.contended > 0 ? t("meets-unknown") : t("meets-none")}</Text>
        ) : (
          p.meetings.map((m) => <MeetingTenants key={m.link} meeting={m} />)
        )}
      </div>
    </Frame>
  );
}

/** The meetings on the links between two groups. */
export function meetingsOf(map: FabricMap, a: string, b: string): Meeting[] {
  return map.tenants_meeting.filter((m) => joins(m, a, b));
}
