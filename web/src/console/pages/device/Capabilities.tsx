import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, data, type Schemas } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useFormat } from "../../../format/useFormat";
import { Fact, Facts } from "../../../ui/Facts";
import { QueryView } from "../../../ui/states";
import { When } from "../../../ui/When";

type Capability = { name: string; value: boolean | number | readonly (string | number)[]; unlimited?: boolean };

/** The capabilities of a device, part by part. What does not apply to the device is absent. */
function listed(c: Schemas["DeviceCapabilities"]): Capability[] {
  const out: Capability[] = [];
  const add = (part: Record<string, Capability["value"]> | undefined, names: Record<string, string> = {}) => {
    for (const [name, value] of Object.entries(part ?? {}))
      out.push({ name: names[name] ?? name, value, unlimited: name === "profiles" && value === 0 });
  };
  add(c.infiniband);
  add(c.nic);
  add(c.wrcc);
  add(c.queues, { ports: "queue_ports" });
  return out;
}

/** What a device can do, as it reports when the tab is opened. */
export function Capabilities({ fabric, device }: { fabric: string; device: string }) {
  const { t } = useTranslation("devices");
  const query = useQuery({
    queryKey: keys.series("capabilities", fabric, device), // a read of the device: its events do not repeat it
    queryFn: () =>
      data(
        client.GET("/api/v1/fabrics/{fabric}/devices/{device}/capabilities", { params: { path: { fabric, device } } }),
      ),
  });
  return (
    <QueryView query={query}>
      {(c) => (
        <Stack gap="sm" data-capabilities={c.id}>
          <Text size="sm">{t("can-why")}</Text>
          <Facts>
            <Fact name={t("can-read")}>
              <When at={c.read_at} />
            </Fact>
            {listed(c).map((x) => (
              <Fact key={x.name} name={t(`can.${x.name}`, { defaultValue: x.name })}>
                <Value of={x} />
              </Fact>
            ))}
          </Facts>
        </Stack>
      )}
    </QueryView>
  );
}

function Value({ of: { value, unlimited } }: { of: Capability }) {
  const { t } = useTranslation(["devices", "common"]);
  const { count } = useFormat();
  if (unlimited) return t("can-unlimited");
  if (typeof value === "boolean") return t(value ? "common:yes" : "common:no");
  if (typeof value === "number") return count(value);
  return value.length > 0 ? <code>{value.join(" ")}</code> : t("common:none");
}
