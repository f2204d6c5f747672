import { Group, Stack, Tabs, Text } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useSay } from "../../i18n/say";
import { useFabricName } from "../../shell/fabrics";
import { useCan } from "../../shell/me";
import { shellWord } from "../../ui/CopyAs";
import { Icon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { ProblemNote } from "../../ui/ProblemNote";
import { QueryView } from "../../ui/states";
import { useUrlState } from "../../ui/useUrlState";
import { ActionButton } from "../parts/ActionButton";
import { DeviceStateBadge } from "../parts/DeviceStateBadge";
import { useDeviceWord } from "../parts/links";
import { Part } from "../parts/Part";
import { Baseline } from "./device/Baseline";
import { Capabilities } from "./device/Capabilities";
import { ChangeLog } from "./device/ChangeLog";
import { DeviceFacts } from "./device/DeviceFacts";
import { Differences } from "./device/Differences";
import { PolicyForm } from "./device/PolicyForm";
import { Reasons } from "./device/Reasons";
import { Release } from "./device/Release";
import { Repair } from "./device/Repair";
import { SettingsTables } from "./device/SettingsTables";
import { type Device as D, later } from "./devices/model";
import { useDevice, useReadNow } from "./devices/queries";

/** A device: its desired and observed settings, and the actions on their difference. */
export default function Device() {
  const { t } = useTranslation(["devices", "shell"]);
  const fabric = useFabricName();
  const { device: name = "" } = useParams({ strict: false }) as { device?: string };
  const query = useDevice(fabric, name);
  const reading = useReadNow(fabric, query.data?.body.id ?? name);
  const [url, setUrl] = useUrlState({ dialog: "" });
  const answer = useAnswer();
  const word = useDeviceWord();
  if (!query.data) return <QueryView query={query}>{() => null}</QueryView>;
  const { body: stored, etag } = query.data;
  const d = later(stored, reading.data);
  const dialog = (which: string) => setUrl({ dialog: which });
  const close = () => dialog("");
  return (
    <Page
      title={word(d.name)}
      page={t("shell:nav.devices")}
      answer={answer(d)}
      badges={<DeviceStateBadge state={d.state} />}
      actions={<Actions fabric={fabric} device={d} reading={reading} onDialog={dialog} />}
      copy={{
        command: `fairlane device show ${shellWord(d.name)} --fabric ${shellWord(fabric)}`,
        api: `GET /api/v1/fabrics/${fabric}/devices/${encodeURIComponent(d.id)}`,
      }}
    >
      {reading.error ? <ProblemNote problem={reading.error} onRetry={() => void reading.refetch()} /> : null}
      <DeviceFacts device={d} />
      <Part title={t("difference")}>
        <Differences device={d} />
      </Part>
      <Details fabric={fabric} device={d} />
      {url.dialog === "repair" ? <Repair fabric={fabric} device={d} onClose={close} /> : null}
      {url.dialog === "release" ? <Release fabric={fabric} device={d} onClose={close} /> : null}
      {url.dialog === "policy" ? <PolicyForm fabric={fabric} device={d} etag={etag} onClose={close} /> : null}
    </Page>
  );
}

/** The state and what it means, in one sentence. */
function useAnswer(): (d: D) => string {
  const { t } = useTranslation("devices");
  const say = useSay();
  const known = [
    "in-sync",
    "drifted",
    "unreachable",
    "quarantined",
    "clean-up-pending",
    "unknown",
    "failed",
    "unsupported",
  ];
  return (d) =>
    t(known.includes(d.state) ? `device-answer.${d.state}` : "device-answer.working", {
      n: d.differences.length,
      incidents: d.incidents ?? 0,
      error: say(d.error_said, d.error ?? ""),
      reason: say(d.quarantine_said, d.quarantine_reason ?? ""),
      leaving: d.leaving ? "yes" : "no",
    });
}

type ActionProps = {
  fabric: string;
  device: D;
  reading: ReturnType<typeof useReadNow>;
  onDialog: (dialog: string) => void;
};

function Actions({ fabric, device: d, reading, onDialog }: ActionProps) {
  const { t } = useTranslation("devices");
  const can = useCan();
  const write = can("device", "write", fabric);
  return (
    <Group gap="xs">
      <ActionButton
        variant="default"
        loading={reading.isFetching}
        onClick={() => void reading.refetch()}
        leftSection={<Icon name="search" />}
      >
        {t("read-now")}
      </ActionButton>
      <ActionButton
        allowed={write}
        variant="default"
        onClick={() => onDialog("policy")}
        leftSection={<Icon name="edit" />}
      >
        {t("device-policy-open")}
      </ActionButton>
      {d.quarantined_at ? (
        <ActionButton
          allowed={write}
          variant="default"
          onClick={() => onDialog("release")}
          leftSection={<Icon name="lock" />}
        >
          {t("release-open")}
        </ActionButton>
      ) : null}
      <ActionButton
        allowed={can("device", "run", fabric)}
        reason={
          d.policy === "freeze" ? t("repair-frozen") : d.differences.length === 0 ? t("repair-nothing") : undefined
        }
        onClick={() => onDialog("repair")}
        leftSection={<Icon name="undo" />}
      >
        {t("repair-open")}
      </ActionButton>
    </Group>
  );
}

const tabs = ["settings", "reasons", "capabilities", "baseline", "log"] as const;

function Details({ fabric, device: d }: { fabric: string; device: D }) {
  const { t } = useTranslation("devices");
  const [url, setUrl] = useUrlState({ tab: "settings" });
  const panel = {
    settings: <SettingsTables desired={d.desired} observed={d.observed} />,
    reasons: <Reasons fabric={fabric} device={d} />,
    capabilities: <Capabilities fabric={fabric} device={d.id} />,
    baseline: <Baseline fabric={fabric} device={d.id} />,
    log: <ChangeLog fabric={fabric} device={d} />,
  };
  if (d.kind === "subnet-manager")
    return (
      <Stack gap="md">
        <Text size="sm">{t("subnet-manager-why")}</Text>
        <Part title={t("tab.log")}>{panel.log}</Part>
      </Stack>
    );
  return (
    <Tabs value={url.tab} onChange={(tab) => setUrl({ tab: tab ?? "settings" })} keepMounted={false}>
      <Tabs.List>
        {tabs.map((tab) => (
          <Tabs.Tab key={tab} value={tab}>
            {t(`tab.${tab}`)}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map((tab) => (
        <Tabs.Panel key={tab} value={tab} pt="md">
          {panel[tab]}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
