import { List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { keys } from "../../../api/keys";
import { QueryView } from "../../../ui/states";
import { EventLine } from "../../parts/EventLine";
import { type Event, latestEvents } from "../../parts/events";
import { Part } from "../../parts/Part";

/** Events in the list. */
const shown = 10;

/** The latest changes, and what the control loop did. */
export function EventsPart({ fabric, latest }: { fabric: string; latest: Event | undefined }) {
  const { t } = useTranslation("overview");
  const events = useQuery({
    queryKey: keys.overview(fabric, "events", latest?.id ?? 0),
    queryFn: () => (latest ? latestEvents(fabric, { most: shown }) : []),
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY, // a newer event has another key
  });
  return (
    <Part title={t("events")}>
      <QueryView query={events}>
        {(list) => (
          <>
            {list.length === 0 ? <Text>{t("events-none")}</Text> : null}
            <List
              listStyleType="none"
              spacing="xs"
              styles={{ itemWrapper: { width: "100%" }, itemLabel: { width: "100%" } }}
            >
              {list.map((e) => (
                <List.Item key={e.id}>
                  <EventLine event={e} />
                </List.Item>
              ))}
            </List>
            {list.some((e) => e.kind.startsWith("loop.")) ? null : (
              <Text size="sm" c="dimmed" mt="sm">
                {t("loop-none")}
              </Text>
            )}
          </>
        )}
      </QueryView>
    </Part>
  );
}
