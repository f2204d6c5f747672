import { Group, List, SimpleGrid, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useFormat } from "../../../format/useFormat";
import { QueryView } from "../../../ui/states";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { When } from "../../../ui/When";
import { DeviceName } from "../../parts/links";
import { Part } from "../../parts/Part";
import type { Tenant } from "../tenants/queries";

/** What is declared of the tenant: weight and limits, classes, ports, members. */
export function Declaration({ fabric, tenant }: { fabric: string; tenant: Tenant }) {
  const { t } = useTranslation("tenant");
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      <Part title={t("declared")}>
        <Limits tenant={tenant} />
      </Part>
      <Part title={t("classes")}>
        <Classes classes={tenant.classes} />
      </Part>
      <Part title={t("attachments")}>
        <Attachments fabric={fabric} tenant={tenant} />
      </Part>
      <Part title={t("members")}>
        <Members fabric={fabric} tenant={tenant.name} />
      </Part>
    </SimpleGrid>
  );
}

function Limits({ tenant: x }: { tenant: Tenant }) {
  const { t } = useTranslation(["tenant", "common"]);
  const f = useFormat();
  const lines: [string, React.ReactNode][] = [
    [t("common:weight"), f.weight(x.weight)],
    [t("common:guarantee"), x.guarantee_bps ? f.rate(x.guarantee_bps) : t("common:none")],
    [t("common:cap"), x.cap_bps ? f.rate(x.cap_bps) : t("common:none")],
    [t("pkey"), x.pkey],
    [t("version"), f.count(x.version)],
    [t("updated"), <When key="at" at={x.updated_at} />],
  ];
  return (
    <Table>
      <Table.Tbody>
        {lines.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row">{name}</Table.Th>
            <Table.Td className="fl-numeric">{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Classes({ classes }: { classes: Schemas["Class"][] }) {
  const { t } = useTranslation("tenant");
  const f = useFormat();
  if (classes.length === 0) return <Text>{t("classes-none")}</Text>;
  return (
    <List>
      {classes.map((c) => (
        <List.Item key={c.name}>{t("class-line", { name: c.name, weight: f.weight(c.weight) ?? "" })}</List.Item>
      ))}
    </List>
  );
}

function Attachments({ fabric, tenant }: { fabric: string; tenant: Tenant }) {
  const { t } = useTranslation("tenant");
  const columns = useMemo<Column<Schemas["Attachment"]>[]>(
    () => [
      {
        id: "port",
        header: t("port"),
        value: (a) => a.name ?? a.port,
        cell: (a) => <DeviceName name={a.name ?? a.port} id={a.port} />,
      },
      { id: "guid", header: t("guid"), value: (a) => a.port, hidden: true },
      { id: "sl", header: t("sl"), align: "end", value: (a) => a.sl, missing: t("sl-chosen") },
      ...(tenant.attachments.some((a) => a.feeds)
        ? [
            {
              id: "feeds",
              header: t("feeds"),
              value: (a: Schemas["Attachment"]) => a.feeds?.join(", "),
              missing: t("feeds-none"),
            },
          ]
        : []),
    ],
    [t, tenant.attachments],
  );
  return (
    <DataTable
      caption={t("attachments")}
      rows={tenant.attachments}
      columns={columns}
      rowId={(a) => a.port}
      filterLabel={tenant.attachments.length > 12 ? undefined : ""}
      count={(shown, total) => t("ports-count", { shown, total })}
      csvName={`${fabric}-${tenant.name}-ports`}
      maxHeight="24rem"
      empty={<Text>{t("attachments-none")}</Text>}
    />
  );
}

function Members({ fabric, tenant }: { fabric: string; tenant: string }) {
  const { t } = useTranslation(["tenant", "common"]);
  const members = useQuery({
    queryKey: keys.members(fabric, tenant),
    queryFn: () =>
      data<Schemas["MemberList"]>(
        client.GET("/api/v1/fabrics/{fabric}/tenants/{tenant}/members", {
          params: { path: { fabric, tenant }, query: { limit: 1000 } },
        }),
      ),
  });
  return (
    <QueryView query={members}>
      {({ items }) =>
        items.length === 0 ? (
          <Text>{t("members-none")}</Text>
        ) : (
          <List>
            {items.map((m) => (
              <List.Item key={m.user}>
                <Group gap="xs">
                  <span className="fl-name">{m.display_name || m.user}</span>
                  <Text span size="sm" c="dimmed">
                    {t(`words:role.${m.role}`, { defaultValue: m.role })}
                  </Text>
                </Group>
              </List.Item>
            ))}
          </List>
        )
      }
    </QueryView>
  );
}
