import { Tabs } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useCan, useMe } from "../../shell/me";
import { Page } from "../../ui/Page";
import { QueryView } from "../../ui/states";
import { useUrlState } from "../../ui/useUrlState";
import { apiOf, titleOf, useTenantName } from "../tenant";
import { Accounts } from "./members/Accounts";
import { MemberList } from "./members/MemberList";
import { MyTokens } from "./members/MyTokens";
import { Password } from "./members/Password";

const defaults = { tab: "" };

export default function Members() {
  const { t } = useTranslation(["members", "shell"]);
  const m = useTenantName();
  const me = useMe();
  const can = useCan();
  const [url, setUrl] = useUrlState(defaults);
  const parts = [
    ...(can("member", "read", m.fabric, m.tenant) ? ["members"] : []),
    "tokens",
    ...(can("service-account", "read", m.fabric, m.tenant) ? ["accounts"] : []),
    ...(me.data?.has_password ? ["password"] : []),
  ];
  const tab = parts.includes(url.tab) ? url.tab : (parts[0] ?? "tokens");
  return (
    <Page
      title={titleOf(m, t("shell:nav.members"))}
      answer={me.data ? t("answer", { name: me.data.name }) : null}
      copy={{
        command: `fairlane member list --tenant ${m.tenant} --fabric ${m.fabric}`,
        api: `GET ${apiOf(m)}/members`,
      }}
      ready={me.data !== undefined}
    >
      <QueryView query={me}>
        {() => (
          <Tabs
            value={tab}
            onChange={(next) => setUrl({ tab: next === parts[0] ? "" : (next ?? "") })}
            keepMounted={false}
          >
            <Tabs.List mb="md" aria-label={t("parts")}>
              {parts.map((p) => (
                <Tabs.Tab key={p} value={p}>
                  {t(`part.${p}`)}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value="members">
              <MemberList />
            </Tabs.Panel>
            <Tabs.Panel value="tokens">
              <MyTokens />
            </Tabs.Panel>
            <Tabs.Panel value="accounts">
              <Accounts />
            </Tabs.Panel>
            <Tabs.Panel value="password">
              <Password />
            </Tabs.Panel>
          </Tabs>
        )}
      </QueryView>
    </Page>
  );
}
