import { Button, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { EventLine } from "../../parts/EventLine";
import type { Event } from "./model";

/** Events shown before the reader asks for more, and then at most. */
const first = 15;
const most = 500;

/** The events of a rollout, newest first. Steps of single devices are in the table of devices. */
export function History({ events }: { events: Event[] }) {
  const { t } = useTranslation("rollouts");
  const [all, setAll] = useState(false);
  const list = events.filter((e) => all || e.kind !== "device.state").reverse();
  const shown = list.slice(0, all ? most : first);
  const more = events.length - shown.length;
  return (
    <Stack gap={4}>
      {shown.length === 0 ? <Text c="dimmed">{t("events-none")}</Text> : null}
      {shown.map((e) => (
        <EventLine key={e.id} event={e} />
      ))}
      {!all && more > 0 ? (
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={() => setAll(true)}
          styles={{
            root: { alignSelf: "flex-start", height: "auto", minHeight: "1.625rem" },
            label: { whiteSpace: "normal", textAlign: "start" },
          }}
        >
          {t("events-more", { n: more })}
        </Button>
      ) : null}
      {all && more > 0 ? <Text c="dimmed">{t("events-cut", { shown: shown.length, all: events.length })}</Text> : null}
    </Stack>
  );
}
