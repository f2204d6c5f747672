import { Tabs } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useFabrics } from "../../shell/fabrics";
import { useCan, useMe } from "../../shell/me";
import { shellWord } from "../../ui/CopyAs";
import { Page } from "../../ui/Page";
import { NoRight, QueryView } from "../../ui/states";
import { useUrlState } from "../../ui/useUrlState";
import { Access } from "./people/Access";
import { Accounts } from "./people/Accounts";
import { AddUser } from "./people/AddUser";
import { Members } from "./people/Members";
import { Mine } from "./people/Mine";
import { type User, useAccounts, useUsers } from "./people/queries";
import { UserDrawer } from "./people/UserDrawer";
import { Users } from "./people/Users";

const tabs = ["users", "members", "accounts", "mine", "access"] as const;
type Tab = (typeof tabs)[number];

const defaults = { tab: "users", user: "", filter: "", fabric: "", tenant: "" };

/** Users, members and service accounts, their roles and their tokens. */
export default function People() {
  const { t } = useTranslation(["people", "shell"]);
  const can = useCan();
  const { data: me } = useMe();
  const [url, setUrl] = useUrlState(defaults);
  const tab = tabs.find((x) => x === url.tab) ?? "users";
  const reads = can("user", "read");
  const writes = can("user", "write");
  const users = useUsers(reads);
  const fabrics = useFabrics();
  const place = { fabric: url.fabric || (fabrics.data?.[0]?.name ?? ""), tenant: url.tenant };
  const [adding, setAdding] = useState(false);
  const known = users.data ? t("answer", counts(users.data)) : undefined;
  return (
    <Page
      title={t("shell:nav.people")}
      answer={me && !reads ? t("answer-own") : known}
      copy={copyOf(tab, place)}
      ready={me !== undefined && (!reads || users.data !== undefined)}
    >
      <Tabs value={tab} keepMounted={false} onChange={(next) => setUrl({ tab: next ?? "users", filter: "" }, true)}>
        <Tabs.List mb="md" aria-label={t("parts")}>
          {tabs.map((x) => (
            <Tabs.Tab key={x} value={x}>
              {t(`tab.${x}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="users">
          {me && !reads ? (
            <NoRight />
          ) : (
            <QueryView query={users}>
              {(list) => (
                <Users
                  users={list}
                  allowed={writes}
                  filter={url.filter}
                  onFilter={(filter) => setUrl({ filter })}
                  onAdd={() => setAdding(true)}
                />
              )}
            </QueryView>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="members">
          <QueryView query={fabrics}>
            {(list) => (
              <Members fabrics={list.map((f) => f.name)} place={place} onPlace={(next) => setUrl(next, true)} />
            )}
          </QueryView>
        </Tabs.Panel>
        <Tabs.Panel value="accounts">
          <AccountsPart />
        </Tabs.Panel>
        <Tabs.Panel value="mine">
          <Mine />
        </Tabs.Panel>
        <Tabs.Panel value="access">
          <Access />
        </Tabs.Panel>
      </Tabs>
      {url.user ? <UserDrawer user={url.user} allowed={writes} onClose={() => setUrl({ user: "" })} /> : null}
      {adding ? (
        <AddUser
          onClose={() => setAdding(false)}
          onAdded={(user) => {
            setAdding(false);
            setUrl({ user });
          }}
        />
      ) : null}
    </Page>
  );
}

function AccountsPart() {
  const can = useCan();
  const { data: me } = useMe();
  const reads = can("service-account", "read");
  const accounts = useAccounts(reads);
  if (me && !reads) return <NoRight />;
  return (
    <QueryView query={accounts}>
      {(list) => <Accounts accounts={list} allowed={can("service-account", "write")} />}
    </QueryView>
  );
}

/** Users, those that are disabled, and those that can administer all fabrics. */
function counts(users: User[]) {
  const disabled = users.filter((u) => u.disabled);
  const admins = users.filter((u) => !u.disabled && u.memberships.some((m) => m.role === "fabric-admin" && !m.fabric));
  return { users: users.length, disabled: disabled.length, admins: admins.length };
}

/** What reproduces the part of the page in sight. */
function copyOf(tab: Tab, { fabric, tenant }: { fabric: string; tenant: string }) {
  const of = tenant ? `/tenants/${encodeURIComponent(tenant)}` : "";
  const flag = tenant ? ` --tenant ${shellWord(tenant)}` : "";
  const copies: Record<Tab, { command: string; api: string }> = {
    users: { command: "fairlane user list", api: "GET /api/v1/users" },
    members: {
      command: `fairlane member list --fabric ${shellWord(fabric)}${flag}`,
      api: `GET /api/v1/fabrics/${encodeURIComponent(fabric)}${of}/members`,
    },
    accounts: { command: "fairlane service-account list", api: "GET /api/v1/service-accounts" },
    mine: { command: "fairlane token list", api: "GET /api/v1/me/tokens" },
    access: { command: "fairlane role list", api: "GET /api/v1/roles" },
  };
  return copies[tab];
}
