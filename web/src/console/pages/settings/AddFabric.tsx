import { Alert, Group, List, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useCan } from "../../../shell/me";
import { Icon } from "../../../ui/icons";
import { ProblemNote } from "../../../ui/ProblemNote";
import { StateBadge } from "../../../ui/StateBadge";
import { useFieldTexts } from "../../../ui/useWrite";
import { ActionButton } from "../../parts/ActionButton";
import { FabricFields } from "./FabricFields";
import { type FabricForm, timeScaleOf } from "./fabricForm";
import { SnapshotFacts } from "./SnapshotFacts";
import type { useAddFabric } from "./useAddFabric";

type Props = {
  form: FabricForm;
  onForm: (form: FabricForm) => void;
  adding: ReturnType<typeof useAddFabric>;
  /** What follows a discovery: links to the next pages. */
  next?: React.ReactNode;
};

/** Puts a fabric under management and discovers it, with the state of both steps. */
export function AddFabric({ form, onForm, adding, next }: Props) {
  const { t } = useTranslation("settings");
  const can = useCan();
  const allowed = can("fabric", "write") && can("fabric", "run");
  const errors = useFieldTexts(adding.failed?.problem);
  const busy = adding.step !== undefined;
  const wrong = form.name.trim() === "" || form.source.trim() === "" || timeScaleOf(form.time_scale) === undefined;
  if (adding.snapshot) return <Discovered adding={adding} next={next} />;
  return (
    <form
      aria-label={t("fabric-add")}
      noValidate
      onSubmit={(e) => {
        e.preventDefault();
        if (allowed && !wrong && !busy) void adding.run();
      }}
    >
      <Stack gap="sm">
        <FabricFields
          form={form}
          onForm={onForm}
          errors={errors}
          locked={adding.added !== undefined}
          disabled={!allowed}
        />
        <Text size="sm">{t("fabric-add-effect")}</Text>
        <Steps adding={adding} />
        {adding.failed ? <ProblemNote problem={adding.failed.problem} /> : null}
        <Group>
          <ActionButton type="submit" allowed={allowed} loading={busy} disabled={allowed && wrong}>
            {adding.added
              ? t("discover-again", { fabric: adding.added })
              : t("fabric-add-do", { fabric: form.name.trim() })}
          </ActionButton>
        </Group>
      </Stack>
    </form>
  );
}

/** Where the two steps are; a polite status for screen readers. */
function Steps({ adding }: { adding: Props["adding"] }) {
  const { t } = useTranslation("settings");
  if (!adding.step && !adding.failed && !adding.added) return <div role="status" />;
  const failedAt = adding.failed?.step;
  const first = adding.added ? "done" : failedAt === "adding" ? "failed" : "running";
  const second = failedAt === "discovering" ? "failed" : adding.step === "discovering" ? "running" : "waiting";
  const look = { done: "good", failed: "bad", running: "info", waiting: "neutral" } as const;
  return (
    <List size="sm" role="status" listStyleType="none" data-steps={`${first} ${second}`}>
      {(
        [
          ["step-add", first],
          ["step-discover", second],
        ] as const
      ).map(([step, state]) => (
        <List.Item key={step}>
          <Group gap="xs">
            <StateBadge tone={look[state]}>{t(`step.${state}`)}</StateBadge> {t(step)}
          </Group>
        </List.Item>
      ))}
    </List>
  );
}

function Discovered({ adding: { snapshot: s, added }, next }: { adding: Props["adding"]; next: React.ReactNode }) {
  const { t } = useTranslation("settings");
  if (!s) return null;
  return (
    <Alert
      color="green"
      variant="light"
      role="status"
      icon={<Icon name="check" />}
      title={t("discovered", { fabric: added ?? "" })}
      data-discovered={added}
    >
      <Stack gap="sm">
        <SnapshotFacts snapshot={s} />
        {next}
      </Stack>
    </Alert>
  );
}
