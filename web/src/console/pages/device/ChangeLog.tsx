import { Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "../../../api/keys";
import { QueryView } from "../../../ui/states";
import { EventLine } from "../../parts/EventLine";
import { latestEvents } from "../../parts/events";
import type { Device } from "../devices/model";

/** Events that the log shows at first, and after the reader asks for more: the longest page of the service. */
const few = 50;
const many = 1000;

/** The latest events about a device, newest first, with the steps of its rollouts. */
export function ChangeLog({ fabric, device: d }: { fabric: string; device: Device }) {
  const { t } = useTranslation("devices");
  const [most, setMost] = useState(few);
  const query = useQuery({
    queryKey: keys.events(fabric, "device", d.id, most),
    queryFn: () => latestEvents(fabric, { subject: d.name, progress: true, most }),
    placeholderData: (before) => before,
    staleTime: 30_000,
  });
  return (
    <QueryView query={query}>
      {(list) => (
        <Stack gap={4} data-events={list.length}>
          {list.length === 0 ? <Text c="dimmed">{t("log-empty")}</Text> : null}
          {list.map((e) => (
            <EventLine key={e.id} event={e} />
          ))}
          {list.length === few && most === few ? (
            <Group>
              <Button variant="subtle" size="compact-sm" onClick={() => setMost(many)}>
                {t("log-earlier")}
              </Button>
            </Group>
          ) : null}
        </Stack>
      )}
    </QueryView>
  );
}
