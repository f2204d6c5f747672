import { Tabs } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useCan, useMe } from "../../shell/me";
import { Page } from "../../ui/Page";
import { NoRight, QueryView } from "../../ui/states";
import { useUrlState } from "../../ui/useUrlState";
import { Access } from "./people/Access";
import { Accounts } from "./people/Accounts";
import { AddUser } from "./people/AddUser";
import { Members } from "./people/Members";
import { Mine } from "./people/Mine";
import { useAccounts, useUsers } from "./people/queries";
import { UserDrawer } from "./people/UserDrawer";
import { Users } from "./people/Users";

const tabs = ["users", "members", "accounts", "mine", "access"] as const;

const commands: Record<string, { command: string; api: string }> = {
  users: { command: "fairlane user list", api: "GET /api/v1/users" },
  members: { command: "fairlane member list", api: "GET /api/v1/fabrics" },
  accounts: { command: "fairlane service-account list", api: "GET /api/v1/service-accounts" },
  mine: { command: "fairlane token list", api: "GET /api/v1/me/tokens" },
  access: { command: "fairlane role list", api: "GET /api/v1/roles" },
};

/** Who may do what: people, programs, their roles and their tokens. */
export default function People() {
  const { t } = useTranslation(["people", "shell"]);
  const can = useCan();
  const { data: me } = useMe();
  const [url, setUrl] = useUrlState({ tab: "users", user: "", filter: "", fabric: "", tenant: "" });
  const tab = tabs.find((x) => x === url.tab) ?? "users";
  const reads = { users: can("user", "read"), accounts: can("service-account", "read") };
  const users = useUsers(reads.users);
  const accounts = useAccounts(reads.accounts);
  const [adding, setAdding] = useState(false);
  const writes = can("user", "write");
  return (
    <Page
      title={t("shell:nav.people")}
      answer={
        users.data
          ? t("answer", {
              users: users.data.length,
              disabled: users.data.filter((u) => u.disabled).length,
              admins: users.data.filter(
                (u) => !u.disabled && u.memberships.some((m) => m.role === "fabric-admin" && !m.fabric),
              ).length,
            })
          : me && !reads.users
            ? t("answer-own")
            : undefined
      }
      copy={copyOf(tab, url)}
      ready={me !== undefined && (!reads.users || users.data !== undefined)}
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
          {me && !reads.users ? (
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
          <Members place={{ fabric: url.fabric, tenant: url.tenant }} onPlace={setUrl} />
        </Tabs.Panel>
        <Tabs.Panel value="accounts">
          {me && !reads.accounts ? (
            <NoRight />
          ) : (
            <QueryView query={accounts}>
              {(list) => <Accounts accounts={list} allowed={can("service-account", "write")} />}
            </QueryView>
          )}
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

/** What reproduces the part of the page in sight. */
function copyOf(tab: string, url: { fabric: string; tenant: string }) {
  const copy = commands[tab] ?? { api: "GET /api/v1/users" };
  if (tab !== "members" || !url.fabric) return copy;
  const of = url.tenant ? `/tenants/${encodeURIComponent(url.tenant)}` : "";
  return {
    command: `fairlane member list --fabric ${url.fabric}${url.tenant ? ` --tenant ${url.tenant}` : ""}`,
    api: `GET /api/v1/fabrics/${encodeURIComponent(url.fabric)}${of}/members`,
  };
}
