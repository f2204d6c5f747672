import { Button, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { all, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useCan, useMe } from "../../../shell/me";
import { Icon } from "../../../ui/icons";
import { Empty, QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useTenantName } from "../../tenant";
import { useSend } from "./useSend";

type Member = Schemas["Member"];
type Role = Schemas["TenantRole"];
type Change = { kind: "add" } | { kind: "role" | "remove"; member: Member };

const roles: Role[] = ["tenant-viewer", "tenant-admin"];

/** The users that have a role in the tenant; an administrator of it adds, changes and removes them. */
export function MemberList() {
  const { t } = useTranslation("members");
  const m = useTenantName();
  const writes = useCan()("member", "write", m.fabric, m.tenant);
  const [change, setChange] = useState<Change>();
  const members = useQuery({
    queryKey: keys.members(m.fabric, m.tenant),
    queryFn: () =>
      all((cursor) =>
        data(
          client.GET("/api/v1/fabrics/{fabric}/tenants/{tenant}/members", {
            params: { path: { ...m }, query: { limit: 1000, cursor } },
          }),
        ),
      ),
  });
  const columns = useColumns(writes ? setChange : undefined);
  const add = writes ? (
    <Button leftSection={<Icon name="plus" />} onClick={() => setChange({ kind: "add" })}>
      {t("add-member")}
    </Button>
  ) : null;
  return (
    <QueryView query={members}>
      {(items) => (
        <>
          <DataTable
            caption={t("part.members")}
            rows={items}
            columns={columns}
            rowId={(x) => `${x.user} ${x.source}`}
            csvName={`fairlane-${m.tenant}-members`}
            actions={add}
            count={(shown, total) => t("member-count", { shown, total })}
            empty={<Empty title={t("no-members")} why={t("no-members-why")} action={add} />}
          />
          {change ? <MemberDialog change={change} onClose={() => setChange(undefined)} /> : null}
        </>
      )}
    </QueryView>
  );
}

function useColumns(onChange: ((change: Change) => void) | undefined): Column<Member>[] {
  const { t } = useTranslation(["members", "common"]);
  return useMemo(
    () => [
      { id: "user", header: t("user"), value: (x) => x.user, width: 10 },
      {
        id: "display",
        header: t("display-name"),
        value: (x) => x.display_name || undefined,
        missing: t("common:none"),
      },
      { id: "role", header: t("role"), value: (x) => t(`words:role.${x.role}`, { defaultValue: x.role }) },
      { id: "source", header: t("source"), value: (x) => t(`source.${x.source}`, { defaultValue: x.source }) },
      ...(onChange
        ? [{ id: "do", header: t("do"), cell: (x: Member) => <Actions member={x} onChange={onChange} /> }]
        : []),
    ],
    [t, onChange],
  );
}

function Actions({ member, onChange }: { member: Member; onChange: (change: Change) => void }) {
  const { t } = useTranslation("members");
  if (member.source !== "local") return <Text size="sm">{t("source-why")}</Text>;
  return (
    <>
      {(["role", "remove"] as const).map((kind) => (
        <Button
          key={kind}
          size="compact-sm"
          variant="default"
          mr="xs"
          aria-label={t(`member-${kind}-of`, { user: member.user })}
          onClick={() => onChange({ kind, member })}
        >
          {t(`member-${kind}`)}
        </Button>
      ))}
    </>
  );
}

function MemberDialog({ change, onClose }: { change: Change; onClose: () => void }) {
  const { t } = useTranslation(["members", "common"]);
  const m = useTenantName();
  const { data: me } = useMe();
  const { busy, problem, send } = useSend();
  const [user, setUser] = useState(change.kind === "add" ? "" : change.member.user);
  const [role, setRole] = useState<Role>(
    change.kind === "role" && change.member.role === "tenant-viewer" ? "tenant-admin" : "tenant-viewer",
  );
  const values = { user: user || t("user"), role: t(`words:role.${role}`) };
  const path = { ...m, user };
  const confirm = () =>
    void send(
      (): Promise<unknown> =>
        change.kind === "remove"
          ? data(client.DELETE("/api/v1/fabrics/{fabric}/tenants/{tenant}/members/{user}", { params: { path } }))
          : data(
              client.PUT("/api/v1/fabrics/{fabric}/tenants/{tenant}/members/{user}", {
                params: { path },
                body: { role },
              }),
            ),
      [keys.members(m.fabric, m.tenant), ...(user === me?.name ? [keys.me()] : [])],
      onClose,
    );
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t(`member-title.${change.kind}`, values)}
      effect={t(`member-effect.${change.kind}`, values)}
      danger={change.kind === "remove"}
      disabled={user === ""}
      busy={busy}
      problem={problem}
      onConfirm={confirm}
    >
      <Stack gap="sm">
        {change.kind === "add" ? (
          <TextInput
            label={t("user")}
            description={t("user-how")}
            value={user}
            maxLength={63}
            autoComplete="off"
            data-autofocus
            onChange={(e) => setUser(e.currentTarget.value)}
          />
        ) : null}
        {change.kind === "remove" ? null : (
          <NativeSelect
            label={t("role")}
            value={role}
            data={roles.map((r) => ({ value: r, label: t(`words:role.${r}`) }))}
            onChange={(e) => setRole(e.currentTarget.value as Role)}
          />
        )}
        {change.kind === "remove" ? null : <Text size="sm">{t(`role-means.${role}`)}</Text>}
        {user !== "" && user === me?.name ? <Text size="sm">{t("yourself")}</Text> : null}
        <Text size="sm">{t(`member-way-back.${change.kind}`)}</Text>
      </Stack>
    </TypedConfirm>
  );
}
