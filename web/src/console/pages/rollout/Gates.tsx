import { Group, List, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Said } from "../../../ui/Said";
import { StateBadge, type Tone } from "../../../ui/StateBadge";
import { When } from "../../../ui/When";
import { counted, type GateResult, type Rollout } from "./model";

/** The bounds of a rollout and what was found at them: failures against the budget, and health gates. */
export function Gates({ rollout: ro, results }: { rollout: Rollout; results: GateResult[] }) {
  return (
    <Stack gap="sm">
      <Budget rollout={ro} />
      <Bounds rollout={ro} />
      <Results rollout={ro} results={results} />
    </Stack>
  );
}

function Budget({ rollout: ro }: { rollout: Rollout }) {
  const { t } = useTranslation("rollouts");
  const { failed } = counted(ro.devices ?? []);
  const budget = ro.options?.failure_budget ?? 0;
  const tone: Tone = failed > budget ? "bad" : failed > 0 ? "warn" : "neutral";
  return (
    <Group gap="sm" data-budget={`${failed}/${budget}`}>
      <StateBadge tone={tone}>{t("budget", { failed, budget })}</StateBadge>
      <Text size="sm">{ro.repair ? t("budget-repair") : t("budget-why", { budget })}</Text>
    </Group>
  );
}

/** What the gates ask for. */
function Bounds({ rollout: ro }: { rollout: Rollout }) {
  const { t } = useTranslation("rollouts");
  const { share, duration } = useFormat();
  const o = ro.options ?? {};
  const error = o.max_share_error || (o.verify_shares ? 0.1 : 0);
  const bounds = [
    o.min_utilisation ? t("gate-use", { least: share(o.min_utilisation) }) : undefined,
    error ? t("gate-share", { most: share(error) }) : undefined,
    o.verify_shares ? t("gate-verify") : undefined,
    o.confirm_window_s ? t("gate-confirm", { window: duration(o.confirm_window_s) }) : undefined,
  ].filter((b) => b !== undefined);
  return (
    <List size="sm">
      {ro.repair || !ro.stages.includes("settings") ? null : <List.Item>{t("gate-loop")}</List.Item>}
      {bounds.map((b) => (
        <List.Item key={b}>{b}</List.Item>
      ))}
      {bounds.length === 0 ? <List.Item>{t("gate-none")}</List.Item> : null}
    </List>
  );
}

const tones: Record<GateResult["result"], Tone> = { passed: "good", failed: "bad", unmeasured: "warn" };

function Results({ rollout: ro, results }: { rollout: Rollout; results: GateResult[] }) {
  const { t } = useTranslation("rollouts");
  if (results.length === 0 && !ro.reason) return <Text size="sm">{t("gate-no-result")}</Text>;
  return (
    <Stack gap={6}>
      {results.map(({ event, result }) => (
        <Group key={event.id} gap="sm" wrap="nowrap" align="flex-start" data-gate={result}>
          <StateBadge tone={tones[result]}>{t(`gate-result.${result}`)}</StateBadge>
          <Text size="sm" style={{ flex: 1 }}>
            <Said said={event.said} english={event.message} />{" "}
            <Text span c="dimmed" inherit>
              <When at={event.at} />
            </Text>
          </Text>
        </Group>
      ))}
      {ro.reason && results.length === 0 ? (
        <Text size="sm">
          <Said said={ro.reason_said} english={ro.reason} />
        </Text>
      ) : null}
    </Stack>
  );
}
