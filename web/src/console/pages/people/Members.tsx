import { Button, Group, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { useFabrics } from "../../../shell/fabrics";
import { useCan } from "../../../shell/me";
import { Empty, QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { ActionButton } from "../../parts/ActionButton";
import { useWrite } from "../../parts/useWrite";
import { tenantRoles, useMembers, usePeopleChanged, wideRoles } from "./queries";

type Member = Schemas["Member"];
type Place = { fabric: string; tenant: string };
type Props = { place: Place; onPlace: (place: Partial<Place>) => void };

/** Who has a role on one fabric, or in one of its tenants. */
export function Members({ place, onPlace }: Props) {
  const { t } = useTranslation(["people", "common"]);
  const names = useFabrics().data?.map((f) => f.name) ?? [];
  const [tenant, setTenant] = useState(place.tenant);
  if (names.length === 0) return <Empty title={t("members-none")} why={t("members-no-fabric")} />;
  const at = { fabric: place.fabric || (names[0] ?? ""), tenant: place.tenant };
  return (
    <Stack gap="sm">
      <form
        onSubmit={(e) => {
          e.preventDefault();
          onPlace({ fabric: at.fabric, tenant: tenant.trim() });
        }}
      >
        <Group gap="sm" align="flex-end">
          <NativeSelect
            label={t("common:fabric")}
            value={at.fabric}
            data={names}
            onChange={(e) => onPlace({ fabric: e.currentTarget.value })}
          />
          <TextInput
            label={t("members-tenant")}
            value={tenant}
            onChange={(e) => setTenant(e.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
          />
          <Button type="submit" variant="default">
            {t("members-show")}
          </Button>
        </Group>
      </form>
      <MemberTable key={`${at.fabric}/${at.tenant}`} place={at} />
    </Stack>
  );
}

function MemberTable({ place }: { place: Place }) {
  const { t } = useTranslation("people");
  const can = useCan();
  const allowed = can("member", "write", place.fabric, place.tenant || undefined);
  const query = useMembers(place.fabric, place.tenant);
  const [changing, setChanging] = useState<{ member?: Member; remove?: boolean }>();
  const columns = useMemberColumns(allowed, (member) => setChanging({ member, remove: true }));
  const name = place.tenant ? `${place.fabric}/${place.tenant}` : place.fabric;
  const add = (
    <ActionButton allowed={allowed} size="xs" onClick={() => setChanging({})}>
      {t("member-add")}
    </ActionButton>
  );
  return (
    <>
      <QueryView query={query}>
        {(members) => (
          <DataTable
            caption={t("members-of", { place: name })}
            rows={members}
            columns={columns}
            rowId={(m) => `${m.user} ${m.source}`}
            href={(m) => `/console/people?user=${encodeURIComponent(m.user)}`}
            csvName={`members-${name.replace("/", "-")}`}
            filterLabel=""
            count={(_, total) => t("members-count", { n: total })}
            actions={add}
            empty={<Empty title={t("members-none")} why={t("members-none-why", { place: name })} action={add} />}
          />
        )}
      </QueryView>
      {changing?.remove && changing.member ? (
        <RemoveMember place={place} user={changing.member.user} onClose={() => setChanging(undefined)} />
      ) : null}
      {changing && !changing.remove ? <PutMember place={place} onClose={() => setChanging(undefined)} /> : null}
    </>
  );
}

function useMemberColumns(allowed: boolean, onRemove: (member: Member) => void): Column<Member>[] {
  const { t } = useTranslation(["people", "common"]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a press works the same with an older function
  return useMemo<Column<Member>[]>(
    () => [
      { id: "user", header: t("user"), value: (m) => m.user },
      {
        id: "display",
        header: t("display-name"),
        value: (m) => m.display_name || undefined,
        cell: (m) => <bdi>{m.display_name}</bdi>,
        missing: "",
      },
      { id: "role", header: t("role"), value: (m) => t(`common:role.${m.role}`) },
      { id: "source", header: t("source"), value: (m) => t(`source.${m.source}`) },
      {
        id: "remove",
        header: t("actions"),
        cell: (m) => (
          <ActionButton
            allowed={allowed}
            reason={m.source === "oidc" ? t("member-oidc") : undefined}
            size="compact-sm"
            variant="default"
            aria-label={t("member-remove", { user: m.user })}
            onClick={() => onRemove(m)}
          >
            {t("role-remove")}
          </ActionButton>
        ),
      },
    ],
    [t, allowed],
  );
}

function PutMember({ place: { fabric, tenant }, onClose }: { place: Place; onClose: () => void }) {
  const { t } = useTranslation(["people", "common"]);
  const roles: readonly string[] = tenant ? tenantRoles : wideRoles;
  const [user, setUser] = useState("");
  const [role, setRole] = useState(roles.at(-1) ?? "");
  const write = useWrite();
  const changed = usePeopleChanged();
  const put = () =>
    data(
      tenant
        ? client.PUT("/api/v1/fabrics/{fabric}/tenants/{tenant}/members/{user}", {
            params: { path: { fabric, tenant, user: user.trim() } },
            body: { role: role as Schemas["TenantRole"] },
          })
        : client.PUT("/api/v1/fabrics/{fabric}/members/{user}", {
            params: { path: { fabric, user: user.trim() } },
            body: { role: role as Schemas["FabricRole"] },
          }),
    );
  const save = async () => {
    if (!(await write.run(put))) return;
    await changed();
    onClose();
  };
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("member-add-to", { place: tenant ? `${fabric}/${tenant}` : fabric })}
      effect={t("member-add-do", { user: user.trim(), role: t(`common:role.${role}`) })}
      busy={write.busy}
      problem={write.problem}
      disabled={user.trim() === ""}
      onConfirm={() => void save()}
    >
      <Stack gap="sm">
        <TextInput
          label={t("user")}
          value={user}
          onChange={(e) => setUser(e.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
        <NativeSelect
          label={t("role")}
          value={role}
          onChange={(e) => setRole(e.currentTarget.value)}
          data={roles.map((value) => ({ value, label: t(`common:role.${value}`) }))}
        />
        <Text size="sm">{t("member-add-why")}</Text>
      </Stack>
    </TypedConfirm>
  );
}

function RemoveMember({
  place: { fabric, tenant },
  user,
  onClose,
}: {
  place: Place;
  user: string;
  onClose: () => void;
}) {
  const { t } = useTranslation("people");
  const write = useWrite();
  const changed = usePeopleChanged();
  const remove = async () => {
    const done = await write.run(() =>
      data(
        tenant
          ? client.DELETE("/api/v1/fabrics/{fabric}/tenants/{tenant}/members/{user}", {
              params: { path: { fabric, tenant, user } },
            })
          : client.DELETE("/api/v1/fabrics/{fabric}/members/{user}", { params: { path: { fabric, user } } }),
      ),
    );
    if (!done) return;
    onClose();
    await changed();
  };
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("member-remove", { user })}
      effect={t("member-remove", { user })}
      danger
      busy={write.busy}
      problem={write.problem}
      onConfirm={() => void remove()}
    >
      <Text>{t("member-remove-why")}</Text>
    </TypedConfirm>
  );
}
