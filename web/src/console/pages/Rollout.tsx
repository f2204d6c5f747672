import { Stack } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFabricName } from "../../shell/fabrics";
import { useCan } from "../../shell/me";
import { shellWord } from "../../ui/CopyAs";
import { Page } from "../../ui/Page";
import { Missing, QueryView } from "../../ui/states";
import { sortOf, sortText } from "../../ui/table/sort";
import { useUrlState } from "../../ui/useUrlState";
import { Part } from "../parts/Part";
import { Actions, CancelDialog } from "./rollout/Actions";
import { Announce } from "./rollout/Announce";
import { useAnswer } from "./rollout/Answer";
import { ConfirmBanner } from "./rollout/ConfirmBanner";
import { DeviceTable } from "./rollout/DeviceTable";
import { Gates } from "./rollout/Gates";
import { History } from "./rollout/History";
import { Measured } from "./rollout/Measured";
import { canariesOf, counted, gatesOf, type Rollout as Ro, wavesOf } from "./rollout/model";
import { useRollout, useRolloutEvents } from "./rollout/queries";
import { RollBack } from "./rollout/RollBack";
import { RolloutBadge } from "./rollout/RolloutBadge";
import { RolloutFacts } from "./rollout/RolloutFacts";
import { WaveSteps } from "./rollout/WaveSteps";

/** A rollout: how far it is, whether it is safe, and how to stop it. */
export default function Rollout() {
  const { rollout } = useParams({ strict: false }) as { rollout?: string };
  const id = Number(rollout);
  return Number.isSafeInteger(id) && id > 0 ? <Known id={id} /> : <Missing />;
}

function Known({ id }: { id: number }) {
  const { t } = useTranslation(["rollouts", "shell"]);
  const fabric = useFabricName();
  const query = useRollout(fabric, id);
  const events = useRolloutEvents(fabric, id);
  const [url, setUrl] = useUrlState({ dialog: "" });
  const answer = useAnswer();
  const allowed = useCan()("rollout", "run", fabric);
  const ro = query.data;
  const dialog = (name: string) => setUrl({ dialog: name });
  if (!ro) return <QueryView query={query}>{() => null}</QueryView>;
  return (
    <Page
      title={t("title", { id })}
      page={t("shell:nav.rollouts")}
      answer={answer(ro)}
      badges={<RolloutBadge rollout={ro} />}
      actions={<Actions fabric={fabric} rollout={ro} allowed={allowed} onDialog={dialog} />}
      copy={{
        command: `fairlane rollout show ${id} --fabric ${shellWord(fabric)}`,
        api: `GET /api/v1/fabrics/${fabric}/rollouts/${id}`,
      }}
      ready={events.data !== undefined}
    >
      <QueryView query={query}>
        {(now) => <Body rollout={now} events={events} allowed={allowed} onRollBack={() => dialog("roll-back")} />}
      </QueryView>
      <Announce text={answer(ro)} urgent={counted(ro.devices ?? []).failed > 0 || ro.state === "failed"} />
      {url.dialog === "roll-back" ? <RollBack fabric={fabric} rollout={ro} onClose={() => dialog("")} /> : null}
      {url.dialog === "cancel" && ro.state === "running" ? (
        <CancelDialog fabric={fabric} rollout={ro} onClose={() => dialog("")} />
      ) : null}
    </Page>
  );
}

type BodyProps = {
  rollout: Ro;
  events: ReturnType<typeof useRolloutEvents>;
  allowed: boolean;
  onRollBack: () => void;
};

function Body({ rollout: ro, events, allowed, onRollBack }: BodyProps) {
  const { t } = useTranslation("rollouts");
  const [url, setUrl] = useUrlState({ wave: "", filter: "", sort: "" });
  const canaries = useMemo(() => canariesOf(events.data ?? []), [events.data]);
  const gates = useMemo(() => gatesOf(events.data ?? []), [events.data]);
  const ended = ro.state !== "running";
  const measured = ro.stages.includes("settings") && !ro.repair && (ended || ro.phase === "confirming");
  return (
    <Stack gap="lg">
      {ro.state === "running" && ro.phase === "confirming" && ro.confirm_by ? (
        <ConfirmBanner fabric={ro.fabric} rollout={ro} allowed={allowed} onRollBack={onRollBack} />
      ) : null}
      <Part title={t("waves")}>
        <WaveSteps
          waves={wavesOf(ro, canaries)}
          current={!ended && ro.phase === "pushing" ? ro.wave : -1}
          shown={url.wave}
          onShow={(wave) => setUrl({ wave })}
        />
      </Part>
      <Part title={t("gates")}>
        <Gates rollout={ro} results={gates} />
      </Part>
      {measured ? (
        <Part title={t("measured-title")}>
          <Measured rollout={ro} />
        </Part>
      ) : null}
      <Part title={t("devices")}>
        <DeviceTable
          rollout={ro}
          wave={url.wave}
          onWave={(wave) => setUrl({ wave })}
          filter={url.filter}
          onFilter={(filter) => setUrl({ filter })}
          sort={sortOf(url.sort)}
          onSort={(sort) => setUrl({ sort: sortText(sort) })}
        />
      </Part>
      <Part title={t("events")}>
        <QueryView query={events}>{(list) => <History events={list} />}</QueryView>
      </Part>
      <Part title={t("facts")}>
        <RolloutFacts rollout={ro} />
      </Part>
    </Stack>
  );
}
