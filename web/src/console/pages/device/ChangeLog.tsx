import { Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { all, client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { QueryView } from "../../../ui/states";
import { EventLine } from "../../parts/EventLine";
import type { Device } from "../devices/model";

/** Days that the log looks back at first, and after the reader asks for more. */
const short = 1;
const long = 28;

/** The events of a device, newest first. The service lists events by time only: the page keeps those of the device. */
export function ChangeLog({ fabric, device: d }: { fabric: string; device: Device }) {
  const { t } = useTranslation("devices");
  const [days, setDays] = useState(short);
  const query = useQuery({
    queryKey: keys.events(fabric, "device", d.id, days),
    queryFn: async () => {
      const since = new Date(Date.now() - days * 86_400_000).toISOString();
      const events = await all<Schemas["Event"]>(
        (cursor) =>
          data(
            client.GET("/api/v1/fabrics/{fabric}/events", {
              params: { path: { fabric }, query: { since, limit: 1000, cursor } },
            }),
          ),
        20_000,
      );
      return events.filter((e) => e.subject === d.name || e.subject === d.id).reverse();
    },
    staleTime: 30_000,
  });
  return (
    <QueryView query={query}>
      {(list) => (
        <Stack gap={4} data-events={list.length}>
          {list.length === 0 ? <Text c="dimmed">{t("log-none", { days })}</Text> : null}
          {list.slice(0, 200).map((e) => (
            <EventLine key={e.id} event={e} />
          ))}
          {days === short ? (
            <Group>
              <Button variant="subtle" size="compact-sm" onClick={() => setDays(long)}>
                {t("log-more", { days: long })}
              </Button>
            </Group>
          ) : null}
        </Stack>
      )}
    </QueryView>
  );
}
