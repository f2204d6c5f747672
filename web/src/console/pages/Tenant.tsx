import { Button, Group, Stack, Tabs } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useFabricName } from "../../shell/fabrics";
import { useCan } from "../../shell/me";
import { shellWord } from "../../ui/CopyAs";
import { Icon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { Loading, Partial, QueryView } from "../../ui/states";
import { useUrlState } from "../../ui/useUrlState";
import { ActionButton } from "../parts/ActionButton";
import { ChangeLog } from "./tenant/ChangeLog";
import { Declaration } from "./tenant/Declaration";
import { DeleteTenant } from "./tenant/DeleteTenant";
import { EditTenant } from "./tenant/EditTenant";
import { Numbers } from "./tenant/Numbers";
import { type Now, useNowOf, useTenant } from "./tenant/queries";
import { ReasonSentence } from "./tenant/ReasonSentence";
import { Settings } from "./tenant/Settings";
import { SharePart } from "./tenant/SharePart";
import { type Tenant as Declared, type Measured, useMeasured } from "./tenants/queries";

/** Why a tenant gets what it gets. */
export default function Tenant() {
  const { t } = useTranslation(["tenant", "shell"]);
  const fabric = useFabricName();
  const { tenant: name = "" } = useParams({ strict: false }) as { tenant?: string };
  const tenant = useTenant(fabric, name);
  const now = useNowOf(fabric, name);
  const series = useMeasured(fabric, name);
  const measured = series.data?.get(name);
  const can = useCan();
  const may = can("tenant", "write", fabric, name);
  const [url, setUrl] = useUrlState({ edit: "", delete: "" });
  return (
    <Page
      title={name}
      page={t("shell:nav.tenants")}
      answer={
        now.data && !series.isPending ? (
          <ReasonSentence tenant={tenant.data?.body} now={now.data} measured={measured} />
        ) : undefined
      }
      actions={
        tenant.data ? (
          <Group gap="xs">
            <ActionButton
              allowed={may}
              variant="default"
              leftSection={<Icon name="edit" />}
              onClick={() => setUrl({ edit: "yes" }, true)}
            >
              {t("edit")}
            </ActionButton>
            <Button
              variant="default"
              renderRoot={(props) => (
                <Link
                  to="/console/f/$fabric/what-if"
                  params={{ fabric }}
                  search={{ edits: `weight:${name}=${tenant.data.body.weight}` } as never}
                  {...props}
                />
              )}
            >
              {t("what-if")}
            </Button>
            <ActionButton allowed={may} variant="default" onClick={() => setUrl({ delete: "yes" })}>
              {t("delete")}
            </ActionButton>
          </Group>
        ) : undefined
      }
      copy={{
        command: `fairlane tenant show ${shellWord(name)} --fabric ${shellWord(fabric)}`,
        api: `GET /api/v1/fabrics/${fabric}/tenants/${name}/now`,
      }}
      ready={tenant.data !== undefined && !now.isPending && !series.isPending}
    >
      <QueryView query={tenant} lines={8}>
        {({ body, etag }) => (
          <Stack gap="md">
            {url.edit && may ? (
              <EditTenant fabric={fabric} tenant={body} etag={etag} onClose={() => setUrl({ edit: "" })} />
            ) : null}
            {url.delete && may ? (
              <DeleteTenant fabric={fabric} tenant={body} etag={etag} onClose={() => setUrl({ delete: "" })} />
            ) : null}
            <QueryView query={now}>
              {(data) =>
                series.isPending ? <Loading /> : <Parts fabric={fabric} tenant={body} now={data} measured={measured} />
              }
            </QueryView>
          </Stack>
        )}
      </QueryView>
    </Page>
  );
}

type PartsProps = { fabric: string; tenant: Declared; now: Now; measured: Measured | undefined };

function Parts({ fabric, tenant, now, measured }: PartsProps) {
  const { t } = useTranslation(["tenant", "overview"]);
  const [url, setUrl] = useUrlState({ tab: "share" });
  return (
    <Stack gap="md">
      {now.series === "read" ? null : <Partial>{t(`overview:series.${now.series}`)}</Partial>}
      <Numbers fabric={fabric} tenant={tenant} now={now} measured={measured} />
      <Tabs value={url.tab} onChange={(tab) => setUrl({ tab: tab ?? "share" })} keepMounted={false}>
        <Tabs.List>
          {["share", "declaration", "settings", "log"].map((tab) => (
            <Tabs.Tab key={tab} value={tab}>
              {t(`tab.${tab}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="share" pt="md">
          <SharePart fabric={fabric} tenant={tenant.name} />
        </Tabs.Panel>
        <Tabs.Panel value="declaration" pt="md">
          <Declaration fabric={fabric} tenant={tenant} />
        </Tabs.Panel>
        <Tabs.Panel value="settings" pt="md">
          <Settings fabric={fabric} tenant={tenant.name} />
        </Tabs.Panel>
        <Tabs.Panel value="log" pt="md">
          <ChangeLog fabric={fabric} tenant={tenant.name} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}
