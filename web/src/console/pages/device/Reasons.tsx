import { Stack, Text, Title } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { QueryView } from "../../../ui/states";
import { useInForce } from "../../parts/inForce";
import { ReasonTable } from "../../parts/ReasonTable";
import type { Device } from "../devices/model";
import { useExplanations } from "../plan/queries";

/** Why the plan in force sets each field of the device, or of each of its ports and queues. */
export function Reasons({ fabric, device: d }: { fabric: string; device: Device }) {
  const { t } = useTranslation("devices");
  const plan = useInForce(fabric).plan?.name ?? "";
  // The name of a switch also covers its ports; a port of a host has its own GUID, while names may be ambiguous.
  const query = useExplanations(fabric, plan, { port: d.kind === "ca" ? d.id : d.name });
  if (!plan) return null;
  return (
    <QueryView query={query}>
      {(list) => {
        if (list.length === 0) return <Text c="dimmed">{t("reasons-none")}</Text>;
        return (
          <Stack gap="md">
            {list.map((e) => (
              <section key={`${e.kind} ${e.name}`}>
                {list.length > 1 ? <Title order={3}>{e.name}</Title> : null}
                <ReasonTable reasons={e.reasons} />
              </section>
            ))}
          </Stack>
        );
      }}
    </QueryView>
  );
}
