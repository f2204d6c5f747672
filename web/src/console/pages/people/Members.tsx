import { Button, Group, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { useCan } from "../../../shell/me";
import { Empty, QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { type Column, DataTable } from "../../../ui/table/DataTable";
import { useDraft } from "../../../ui/useDraft";
import { stringifySearch } from "../../../ui/useUrlState";
import { useWrite } from "../../../ui/useWrite";
import { ActionButton } from "../../parts/ActionButton";
import { tenantRoles, useMembers, usePeopleChanged, wideRoles } from "./queries";

type Member = Schemas["Member"];
type Place = { fabric: string; tenant: string };
type Props = {
  fabrics: string[];
  place: Place;
  onPlace: (place: Place) => void;
};

/** The members of one fabric, or of one of its tenants. */
export function Members({ fabrics, place, onPlace }: Props) {
  const { t } = useTranslation(["people", "common"]);
  const [tenant, setTenant] = useDraft(place.tenant);
  if (fabrics.length === 0) return <Empty title={t("members-none")} why={t("members-no-fabric")} />;
  return (
    <Stack gap="sm">
      <form
        onSubmit={(e) => {
          e.preventDefault();
          onPlace({ fabric: place.fabric, tenant: tenant.trim() });
        }}
      >
        <Group gap="sm" align="flex-end">
          <NativeSelect
            label={t("common:fabric")}
            value={place.fabric}
            data={fabrics}
            onChange={(e) => onPlace({ fabric: e.currentTarget.value, tenant: "" })}
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
      <MemberTable key={nameOf(place)} place={place} />
    </Stack>
  );
}

const nameOf = ({ fabric, tenant }: Place) => (tenant ? `${fabric}/${tenant}` : fabric);

function MemberTable({ place }: { place: Place }) {
  const { t } = useTranslation("people");
  const can = useCan();
  const allowed = can("member", "write", place.fabric, place.tenant || undefined);
  const query = useMembers(place.fabric, place.tenant);
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<string>();
  const columns = useMemberColumns(allowed, setRemoving);
  const name = nameOf(place);
  const add = (
    <ActionButton allowed={allowed} size="xs" onClick={() => setAdding(true)}>
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
            href={(m) => `/console/people${stringifySearch({ tab: "members", ...place, user: m.user })}`}
            csvName={`members-${name.replace("/", "-")}`}
            filterLabel=""
            count={(_, total) => t("members-count", { n: total })}
            actions={add}
            empty={<Empty title={t("members-none")} why={t("members-none-why", { place: name })} action={add} />}
          />
        )}
      </QueryView>
      {removing ? <RemoveMember place={place} user={removing} onClose={() => setRemoving(undefined)} /> : null}
      {adding ? <PutMember place={place} onClose={() => setAdding(false)} /> : null}
    </>
  );
}

function useMemberColumns(allowed: boolean, onRemove: (user: string) => void): Column<Member>[] {
  const { t } = useTranslation(["people", "common"]);
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
      { id: "role", header: t("role"), value: (m) => t(`words:role.${m.role}`) },
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
            onClick={() => onRemove(m.user)}
          >
            {t("role-remove")}
          </ActionButton>
        ),
      },
    ],
    [t, allowed, onRemove],
  );
}

function PutMember({ place, onClose }: { place: Place; onClose: () => void }) {
  const { t } = useTranslation(["people", "common"]);
  const { fabric, tenant } = place;
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
      title={t("member-add-to", { place: nameOf(place) })}
      effect={t("member-add-do", { user: user.trim(), role: t(`words:role.${role}`) })}
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
          data={roles.map((value) => ({ value, label: t(`words:role.${value}`) }))}
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
