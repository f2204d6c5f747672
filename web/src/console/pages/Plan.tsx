import { Group, Stack, Tabs } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useFabricName } from "../../shell/fabrics";
import { useCan } from "../../shell/me";
import { shellWord } from "../../ui/CopyAs";
import { Page } from "../../ui/Page";
import { StateBadge } from "../../ui/StateBadge";
import { QueryView } from "../../ui/states";
import { useUrlState } from "../../ui/useUrlState";
import { ActionButton } from "../parts/ActionButton";
import { useOverview } from "../parts/inForce";
import { shortPlan } from "../parts/links";
import { Answer } from "./plan/Answer";
import { BlastRadius } from "./plan/BlastRadius";
import { Changes } from "./plan/Changes";
import { CompileDialog } from "./plan/CompileDialog";
import { type Context, usePlanContext } from "./plan/context";
import { PlanFacts } from "./plan/PlanFacts";
import { PlanFindings } from "./plan/PlanFindings";
import { PlanShares } from "./plan/PlanShares";
import { SettingsByDevice } from "./plan/SettingsByDevice";
import { Stale } from "./plan/Stale";
import { StartRollout } from "./plan/StartRollout";

const tabs = ["changes", "settings", "reach"] as const;

/** One plan: what would change, and what each tenant would get. */
export default function Plan() {
  const { t } = useTranslation(["plans", "shell"]);
  const { plan: name = "" } = useParams({ strict: false }) as { plan?: string };
  const fabric = useFabricName();
  const x = usePlanContext(fabric, name);
  const [url, setUrl] = useUrlState({ tab: "changes", simulation: "", start: "", compile: "" });
  return (
    <Page
      title={shortPlan(name)}
      page={t("plan")}
      badges={x.plan.data ? <Badges context={x} /> : null}
      answer={x.plan.data ? <Answer context={x} /> : null}
      actions={
        x.plan.data ? (
          <Actions context={x} onStart={() => setUrl({ start: "now" })} onCompile={() => setUrl({ compile: "now" })} />
        ) : null
      }
      copy={{
        command: `fairlane plan show ${shellWord(name)} --fabric ${shellWord(fabric)}`,
        api: `GET /api/v1/fabrics/${fabric}/plans/${name}`,
      }}
      ready={x.ready}
    >
      <QueryView query={x.plan} lines={8}>
        {(plan) => (
          <Stack gap="lg">
            <Stale context={x} plan={plan} onCompile={() => setUrl({ compile: "now" })} />
            <PlanShares
              context={x}
              plan={plan}
              simulation={url.simulation}
              onSimulation={(simulation) => setUrl({ simulation })}
            />
            <PlanFindings plan={plan} />
            <Tabs value={url.tab} onChange={(tab) => setUrl({ tab: tab ?? "changes" })} keepMounted={false}>
              <Tabs.List aria-label={t("parts-of-plan")}>
                {tabs.map((tab) => (
                  <Tabs.Tab key={tab} value={tab}>
                    {t(`tab.${tab}`)}
                  </Tabs.Tab>
                ))}
              </Tabs.List>
              <Tabs.Panel value="changes" pt="md">
                <Changes context={x} />
              </Tabs.Panel>
              <Tabs.Panel value="settings" pt="md">
                <SettingsByDevice fabric={fabric} plan={plan} />
              </Tabs.Panel>
              <Tabs.Panel value="reach" pt="md">
                <BlastRadius context={x} plan={plan} />
              </Tabs.Panel>
            </Tabs>
            <PlanFacts plan={plan} />
            {url.start ? <StartRollout context={x} plan={plan} onClose={() => setUrl({ start: "" })} /> : null}
          </Stack>
        )}
      </QueryView>
      {url.compile ? <CompileDialog fabric={fabric} onClose={() => setUrl({ compile: "" })} /> : null}
    </Page>
  );
}

function Badges({ context: x }: { context: Context }) {
  const { t } = useTranslation("plans");
  return (
    <Group gap="xs">
      {x.isInForce ? <StateBadge tone="good">{t("in-force")}</StateBadge> : null}
      {x.stale ? <StateBadge tone="warn">{t("stale")}</StateBadge> : null}
      {x.plan.data && x.plan.data.plane !== "ib" ? (
        <StateBadge tone="neutral">{t("plane", { plane: x.plan.data.plane })}</StateBadge>
      ) : null}
    </Group>
  );
}

/** Why no rollout can start now, and the button that starts one. */
function Actions({ context: x, onStart, onCompile }: { context: Context; onStart: () => void; onCompile: () => void }) {
  const { t } = useTranslation("plans");
  const can = useCan();
  const running = useOverview(x.fabric).data?.rollout;
  const other = x.otherPlane ? t("other-plane", { plane: x.plan.data?.plane ?? "" }) : undefined;
  return (
    <>
      <ActionButton variant="default" allowed={can("plan", "write", x.fabric)} onClick={onCompile}>
        {t("compile-again")}
      </ActionButton>
      <ActionButton
        allowed={can("rollout", "run", x.fabric)}
        reason={other ?? (running ? t("rollout-running", { id: running.id }) : undefined)}
        onClick={onStart}
      >
        {x.isInForce ? t("start-again") : t("start")}
      </ActionButton>
    </>
  );
}
