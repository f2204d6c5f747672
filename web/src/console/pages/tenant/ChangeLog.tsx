import { List, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useFormat } from "../../../format/useFormat";
import { useCan } from "../../../shell/me";
import { QueryView } from "../../../ui/states";
import { useActor } from "../../../ui/useActor";
import { When } from "../../../ui/When";
import { EventLine } from "../../parts/EventLine";
import { latestEvents } from "../../parts/events";
import { useActionWord } from "../audit/words";
import { type LogField, logChanges } from "./log";

type Entry = Schemas["AuditEntry"];

/** Entries of the log that are read at once. */
const pageSize = 100;

/** Changes of the tenant: from the audit log, with the fields before and after; without the right to read it, from events. */
export function ChangeLog({ fabric, tenant }: { fabric: string; tenant: string }) {
  const can = useCan();
  return can("audit", "read") ? (
    <FromAudit fabric={fabric} tenant={tenant} />
  ) : (
    <FromEvents fabric={fabric} tenant={tenant} />
  );
}

/** The latest entries of the audit log about a tenant. */
export function useTenantEntries(fabric: string, tenant: string, enabled = true) {
  return useQuery({
    queryKey: keys.audit("tenant", fabric, tenant),
    queryFn: () =>
      data<Schemas["AuditList"]>(
        client.GET("/api/v1/audit", {
          params: { query: { fabric, object: tenant, action: "tenant.", order: "newest", limit: pageSize } },
        }),
      ),
    enabled,
  });
}

function FromAudit({ fabric, tenant }: { fabric: string; tenant: string }) {
  const { t } = useTranslation("tenant");
  const log = useTenantEntries(fabric, tenant);
  return (
    <QueryView query={log}>
      {({ items }) => (
        <Stack gap="sm">
          {items.length === 0 ? <Text>{t("log-none")}</Text> : null}
          <List listStyleType="none" spacing="sm">
            {items.map((e) => (
              <List.Item key={e.seq} data-seq={e.seq}>
                <Line entry={e} />
              </List.Item>
            ))}
          </List>
          {items.length === pageSize ? <Text size="sm">{t("log-more", { n: pageSize })}</Text> : null}
        </Stack>
      )}
    </QueryView>
  );
}

function Line({ entry: e }: { entry: Entry }) {
  const { t } = useTranslation("tenant");
  const actor = useActor();
  const action = useActionWord();
  const f = useFormat();
  const word = (field: LogField, value: unknown) => {
    if (value === undefined || value === null || value === 0 || value === "") return t("log-nothing");
    if (field === "weight") return f.weight(Number(value) / 1000) ?? "";
    if (field === "guarantee" || field === "cap") return f.rate(Number(value)) ?? "";
    if (Array.isArray(value)) return t("log-items", { n: value.length });
    return String(value);
  };
  return (
    <>
      <Text size="sm">
        <When at={e.at} />{" "}
        {t("log-line", {
          actor: actor(e.actor),
          action: action(e.action),
          what: e.action.replace(/^tenant\./, ""),
          refused: e.outcome === "refused" ? "yes" : "no",
        })}
      </Text>
      {logChanges(e.before, e.after).map((c) => (
        <Text key={c.field} size="sm" className="fl-name" ps="md">
          {t("log-change", {
            field: t(`log-field.${c.field}`),
            before: word(c.field, c.before),
            after: word(c.field, c.after),
          })}
        </Text>
      ))}
    </>
  );
}

function FromEvents({ fabric, tenant }: { fabric: string; tenant: string }) {
  const { t } = useTranslation("tenant");
  const events = useQuery({
    queryKey: keys.tenant(fabric, tenant, "log"),
    queryFn: () => latestEvents(fabric, { kind: "tenant.", subject: tenant, most: pageSize }),
  });
  return (
    <QueryView query={events}>
      {(list) =>
        list.length === 0 ? (
          <Text>{t("log-none")}</Text>
        ) : (
          <Stack gap="xs">
            {list.map((e) => (
              <EventLine key={e.id} event={e} />
            ))}
          </Stack>
        )
      }
    </QueryView>
  );
}
