import { List, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { QueryView } from "../../../ui/states";
import { totals } from "../../parts/difference";
import { useOverview } from "../../parts/inForce";
import { Names, TenantName } from "../../parts/links";
import { Part } from "../../parts/Part";
import type { Plan } from "../../parts/plans";
import type { Context } from "./context";
import { usePreview } from "./queries";
import { Waves } from "./Waves";

/** Devices, ports, switches and tenants that the plan reaches, and the waves in which a rollout would reach them. */
export function BlastRadius({ context: x, plan }: { context: Context; plan: Plan }) {
  const { t } = useTranslation("plans");
  const overview = useOverview(x.fabric);
  const running = overview.data?.rollout;
  const preview = usePreview(x.fabric, plan.name, {}, overview.data !== undefined && !running);
  const d = x.difference.data ? totals(x.difference.data) : undefined;
  const touched = d ? [...d.gains, ...d.loses, ...d.comes, ...d.goes] : [];
  return (
    <Stack gap="md">
      <List>
        <List.Item>{t("reach-plan", { ports: plan.cas.length, switches: plan.switches.length })}</List.Item>
        {x.changed ? <List.Item>{t("reach-changed", x.changed)}</List.Item> : null}
        {d && touched.length > 0 ? (
          <List.Item>
            {t("reach-tenants", { n: touched.length, all: plan.tenants.length })}{" "}
            <Names names={touched} of={TenantName} />
          </List.Item>
        ) : null}
        {d && touched.length === 0 ? <List.Item>{t("reach-no-tenant")}</List.Item> : null}
        <List.Item>{t("reach-written")}</List.Item>
      </List>
      <Part title={t("waves")}>
        {running && !preview.data ? <Text>{t("rollout-running", { id: running.id })}</Text> : null}
        {running && !preview.data ? null : (
          <QueryView query={preview}>
            {(p) => (
              <Stack gap="xs">
                <Text>{t("waves-sentence", { waves: p.waves.length, devices: p.devices })}</Text>
                <Waves waves={p.waves} />
              </Stack>
            )}
          </QueryView>
        )}
      </Part>
    </Stack>
  );
}
