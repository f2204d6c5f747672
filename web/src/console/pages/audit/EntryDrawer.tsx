import { Checkbox, Drawer, Group, Stack, Table, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Copyable } from "../../../ui/CopyAs";
import { Said } from "../../../ui/Said";
import { QueryView } from "../../../ui/states";
import { useActor } from "../../../ui/useActor";
import { When } from "../../../ui/When";
import { To } from "../../parts/links";
import { fieldChanges } from "./difference";
import { OutcomeBadge } from "./OutcomeBadge";
import { type Entry, useEntry } from "./queries";
import { useActionWord } from "./words";

type Props = { seq: number; known: Entry | undefined; onClose: () => void };

/** One entry of the log: who, when, from where, and the object before and after. */
export function EntryDrawer({ seq, known, onClose }: Props) {
  const { t } = useTranslation(["audit", "shell"]);
  const entry = useEntry(seq, known);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="xl"
      title={t("entry", { seq })}
      closeButtonProps={{ "aria-label": t("shell:close") }}
    >
      <QueryView query={entry}>{(e) => <Detail entry={e} />}</QueryView>
    </Drawer>
  );
}

function Detail({ entry: e }: { entry: Entry }) {
  const { t } = useTranslation("audit");
  const word = useActionWord();
  return (
    <Stack gap="md" data-entry={e.seq}>
      <Group gap="sm">
        <Text fw={600}>{word(e.action)}</Text>
        <OutcomeBadge outcome={e.outcome} />
      </Group>
      {e.detail ? (
        <Text className="fl-name">
          <Said said={e.said} english={e.detail} />
        </Text>
      ) : null}
      <Facts entry={e} />
      <Changes before={e.before} after={e.after} />
      <Copyable label={t("link")} text={`${window.location.origin}/console/audit?seq=${e.seq}`} />
      <Group gap="md">
        {e.seq > 1 ? (
          <To to="/console/audit" search={{ seq: String(e.seq - 1) }}>
            {t("entry-before")}
          </To>
        ) : null}
        <To to="/console/audit" search={{ seq: String(e.seq + 1) }}>
          {t("entry-after")}
        </To>
      </Group>
    </Stack>
  );
}

function Facts({ entry: e }: { entry: Entry }) {
  const { t } = useTranslation(["audit", "common"]);
  const actor = useActor();
  const format = useFormat();
  const rows: [string, React.ReactNode][] = [
    [
      t("common:actor"),
      <bdi key="actor">
        {e.actor_kind === "system"
          ? actor(e.actor)
          : t("actor-and-kind", { actor: e.actor, kind: t(`kind.${e.actor_kind}`) })}
      </bdi>,
    ],
    [
      t("common:time"),
      <span key="at">
        {format.absolute(e.at)} (<When at={e.at} />)
      </span>,
    ],
    [t("object"), <bdi key="object">{e.object}</bdi>],
    [t("action-code"), <code key="action">{e.action}</code>],
    [t("common:fabric"), e.fabric],
    [t("token"), e.token],
    [t("address"), e.addr],
    [t("request"), e.request_id ? <code key="request">{e.request_id}</code> : undefined],
    [t("hash"), <code key="hash">{e.hash}</code>],
    [t("prev"), <code key="prev">{e.prev}</code>],
  ];
  return (
    <Table layout="fixed">
      <Table.Tbody>
        {rows
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row" w="32%">
                {name}
              </Table.Th>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{value}</Table.Td>
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  );
}

/** The object before and after, field by field. */
function Changes({ before, after }: { before: unknown; after: unknown }) {
  const { t } = useTranslation(["audit", "common"]);
  const [whole, setWhole] = useState(false);
  const format = useFormat();
  const fields = fieldChanges(before, after, { weight: format.weight, rate: format.exactRate });
  const same = fields.filter((f) => !f.changed).length;
  if (fields.length === 0) return <Text c="dimmed">{t("no-values")}</Text>;
  const side = (value: string | undefined) =>
    value === undefined ? <span className="fl-missing">{t("absent")}</span> : <code>{value}</code>;
  return (
    <div>
      <Title order={2} mb="xs">
        {t("change")}
      </Title>
      <Table layout="fixed">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t("field")}</Table.Th>
            <Table.Th scope="col">{t("before")}</Table.Th>
            <Table.Th scope="col">{t("after")}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {fields
            .filter((f) => whole || f.changed)
            .map((f) => (
              <Table.Tr key={f.path} data-field={f.path}>
                <Table.Th scope="row" style={{ overflowWrap: "anywhere", fontWeight: f.changed ? 600 : 400 }}>
                  {f.path ? <code>{f.path}</code> : t("value")}
                </Table.Th>
                <Table.Td style={{ overflowWrap: "anywhere" }}>{side(f.before)}</Table.Td>
                <Table.Td style={{ overflowWrap: "anywhere" }}>{side(f.after)}</Table.Td>
              </Table.Tr>
            ))}
        </Table.Tbody>
      </Table>
      {same > 0 ? (
        <Checkbox
          mt="sm"
          label={t("show-same", { n: same })}
          checked={whole}
          onChange={(e) => setWhole(e.currentTarget.checked)}
        />
      ) : null}
    </div>
  );
}
