import { SimpleGrid, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFabricName } from "../../shell/fabrics";
import { shellWord } from "../../ui/CopyAs";
import { Page } from "../../ui/Page";
import { Partial, QueryView } from "../../ui/states";
import { When } from "../../ui/When";
import { type FabricOverview, useOverview } from "../parts/inForce";
import { AlertsPart } from "./overview/AlertsPart";
import { BelowPart } from "./overview/BelowPart";
import { ContendedPart } from "./overview/ContendedPart";
import { DevicesPart } from "./overview/DevicesPart";
import { EventsPart } from "./overview/EventsPart";
import { NextStep } from "./overview/NextStep";
import { RolloutPart } from "./overview/RolloutPart";
import { VerdictSentence } from "./overview/VerdictSentence";

/** Whether every tenant receives its share now, and the figures behind the answer. */
export default function Overview() {
  const { t } = useTranslation(["overview", "shell"]);
  const fabric = useFabricName();
  const overview = useOverview(fabric, 15_000);
  const o = overview.data;
  return (
    <Page
      title={t("shell:nav.overview")}
      page={fabric}
      answer={o ? <VerdictSentence overview={o} /> : undefined}
      copy={{
        command: `fairlane share show --fabric ${shellWord(fabric)}`,
        api: `GET /api/v1/fabrics/${fabric}/overview`,
      }}
      ready={o !== undefined}
    >
      <QueryView query={overview} lines={8}>
        {(data) => <Parts overview={data} />}
      </QueryView>
    </Page>
  );
}

const withoutPlan = new Set(["no-plan", "no-tenants", "not-discovered"]);

function Parts({ overview: o }: { overview: FabricOverview }) {
  const { t } = useTranslation("overview");
  const begun = !withoutPlan.has(o.verdict);
  return (
    <Stack gap="md">
      {begun ? <DataAge overview={o} /> : null}
      {o.series === "read" || !begun ? null : <Partial>{t(`series.${o.series}`)}</Partial>}
      {begun ? <BelowPart overview={o} /> : <NextStep overview={o} />}
      {o.rollout ? <RolloutPart rollout={o.rollout} /> : null}
      {begun ? (
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
          <ContendedPart overview={o} />
          <DevicesPart overview={o} />
          <AlertsPart overview={o} />
        </SimpleGrid>
      ) : null}
      <EventsPart fabric={o.fabric} latest={o.latest_event} />
    </Stack>
  );
}

/** How old the figures are: a verdict without its age says nothing about now. */
function DataAge({ overview: o }: { overview: FabricOverview }) {
  const { t } = useTranslation("overview");
  return (
    <Text size="sm" c="dimmed" data-measured={o.measured_at ?? ""}>
      {o.measured_at ? (
        <>
          {t("measured")} <When at={o.measured_at} />
        </>
      ) : (
        t("measured-never")
      )}
    </Text>
  );
}
