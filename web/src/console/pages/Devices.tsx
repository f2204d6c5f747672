import { Select, Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../format/useFormat";
import { useFabricName } from "../../shell/fabrics";
import { useCan } from "../../shell/me";
import { shellWord } from "../../ui/CopyAs";
import { Icon } from "../../ui/icons";
import { useNow } from "../../ui/now";
import { Page } from "../../ui/Page";
import { asProblem, ProblemNote } from "../../ui/ProblemNote";
import { Empty, QueryView } from "../../ui/states";
import { sortOf, sortText } from "../../ui/table/sort";
import { useUrlState } from "../../ui/useUrlState";
import { ActionButton } from "../parts/ActionButton";
import { PlanName, To } from "../parts/links";
import { DeviceTable } from "./devices/DeviceTable";
import { DriftBanner } from "./devices/DriftBanner";
import { DriftPolicy } from "./devices/DriftPolicy";
import { byNeed, type Device, driftedOf, latest, oldest } from "./devices/model";
import { useDevices, useReadAll } from "./devices/queries";
import { StateFilter } from "./devices/StateFilter";
import { Management } from "./rollouts/Management";

/** The devices of the plan in force: states, readings and drift policy. */
export default function Devices() {
  const { t } = useTranslation(["devices", "shell"]);
  const fabric = useFabricName();
  const query = useDevices(fabric);
  const read = useReadAll(fabric);
  const devices = useMemo(() => latest(query.data?.items ?? [], read.data), [query.data, read.data]);
  const noPlan = query.error !== null && asProblem(query.error).code === "no-plan";
  return (
    <Page
      title={t("shell:nav.devices")}
      answer={query.data ? <Answer devices={devices} /> : noPlan ? t("no-plan") : undefined}
      actions={
        <ActionButton
          reason={noPlan ? t("no-plan") : undefined}
          variant="default"
          loading={read.isFetching}
          onClick={() => void read.refetch()}
          leftSection={<Icon name="search" />}
        >
          {t("read-all", { n: devices.length })}
        </ActionButton>
      }
      copy={{
        command: `fairlane device known --fabric ${shellWord(fabric)}`,
        api: `GET /api/v1/fabrics/${fabric}/devices?read=false`,
      }}
      ready={query.data !== undefined || noPlan}
    >
      <Management fabric={fabric} />
      {read.error ? <ProblemNote problem={read.error} onRetry={() => void read.refetch()} /> : null}
      {noPlan ? (
        <Empty
          title={t("no-plan-title")}
          why={t("no-plan-why")}
          action={
            <To to="/console/f/$fabric/plans" params={{ fabric }}>
              {t("to-plans")}
            </To>
          }
        />
      ) : (
        <QueryView query={query}>{({ plan }) => <Body fabric={fabric} plan={plan} devices={devices} />}</QueryView>
      )}
    </Page>
  );
}

/** How many devices have drifted and which, how many have no reading, and how old the readings are. */
function Answer({ devices }: { devices: Device[] }) {
  const { t } = useTranslation("devices");
  const { ago } = useFormat();
  const now = useNow(10);
  const count = (...states: string[]) => devices.filter((d) => states.includes(d.state)).length;
  const drifted = driftedOf(devices);
  const since = oldest(devices);
  return t("answer", {
    all: devices.length,
    drifted: drifted.length,
    names: drifted
      .slice(0, 3)
      .map((d) => d.name)
      .join(t("separator")),
    more: Math.max(0, drifted.length - 3),
    silent: count("unreachable", "failed", "unsupported"),
    unread: count("unknown"),
    age: since ? ago(Date.parse(since), Math.max(now, Date.parse(since))) : "",
    read: since ? "yes" : "no",
  });
}

function Body({ fabric, plan, devices }: { fabric: string; plan: string; devices: Device[] }) {
  const { t } = useTranslation(["devices", "common"]);
  const [url, setUrl] = useUrlState({ state: "", kind: "", filter: "", sort: "", dialog: "" });
  const can = useCan();
  const rows = useMemo(
    () =>
      devices
        .filter((d) => (url.state === "" || d.state === url.state) && (url.kind === "" || d.kind === url.kind))
        .sort(byNeed),
    [devices, url.state, url.kind],
  );
  const kinds = [...new Set(devices.map((d) => d.kind))].sort();
  return (
    <Stack gap="lg">
      <DriftBanner devices={devices} onShow={(state) => setUrl({ state })} />
      <Text size="sm">
        {t("compared-with")}
        {t("gap")}
        <PlanName name={plan} />
      </Text>
      <StateFilter devices={devices} state={url.state} onState={(state) => setUrl({ state })} />
      <Select
        label={t("common:kind")}
        data={[{ value: "", label: t("all-kinds") }, ...kinds.map((k) => ({ value: k, label: t(`common:kind.${k}`) }))]}
        value={url.kind}
        onChange={(kind) => setUrl({ kind: kind ?? "" })}
        allowDeselect={false}
        maw={220}
      />
      <DeviceTable
        fabric={fabric}
        rows={rows}
        filter={url.filter}
        onFilter={(filter) => setUrl({ filter })}
        sort={sortOf(url.sort)}
        onSort={(sort) => setUrl({ sort: sortText(sort) })}
      />
      <DriftPolicy
        fabric={fabric}
        devices={devices}
        allowed={can("device", "write", fabric)}
        editing={url.dialog === "policy"}
        onEdit={(editing) => setUrl({ dialog: editing ? "policy" : "" })}
      />
    </Stack>
  );
}
