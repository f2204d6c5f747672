import { Group, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Icon } from "../../../ui/icons";
import { ProblemNote } from "../../../ui/ProblemNote";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { ActionButton } from "../../parts/ActionButton";
import { counted, type Rollout, situationOf } from "./model";
import { useRequest } from "./queries";

type Props = { fabric: string; rollout: Rollout; allowed: boolean; onDialog: (dialog: string) => void };

/** What can be done to the rollout now. */
export function Actions(p: Props) {
  return p.rollout.state === "running" ? <WhileRunning {...p} /> : <Ended {...p} />;
}

/** Pause, resume, cancel, roll back: each is possible until the rollout begins to end. */
function WhileRunning({ fabric, rollout: ro, allowed, onDialog }: Props) {
  const { t } = useTranslation("rollouts");
  const pause = useRequest(fabric, ro, "pause");
  const resume = useRequest(fabric, ro, "resume");
  const situation = situationOf(ro);
  const undoing = situation === "undoing" || situation === "unplacing" || ro.phase === "undoing";
  const written = ro.phase === "confirming" ? t("no-pause") : undefined;
  const problem = pause.error ?? resume.error;
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="xs">
        {situation === "paused" || situation === "pausing" ? (
          <ActionButton
            allowed={allowed}
            variant="default"
            loading={resume.isPending}
            onClick={() => resume.mutate()}
            leftSection={<Icon name="play" />}
          >
            {t("resume")}
          </ActionButton>
        ) : (
          <ActionButton
            allowed={allowed}
            reason={situation === "canceling" ? t("ending") : written}
            variant="default"
            loading={pause.isPending}
            onClick={() => pause.mutate()}
            leftSection={<Icon name="pause" />}
          >
            {t("pause")}
          </ActionButton>
        )}
        <ActionButton
          allowed={allowed}
          reason={undoing || situation === "canceling" ? t("ending") : written}
          variant="default"
          onClick={() => onDialog("cancel")}
          leftSection={<Icon name="cross" />}
        >
          {t("cancel-open")}
        </ActionButton>
        <ActionButton
          allowed={allowed}
          reason={undoing && situation !== "paused" ? t("ending") : undefined}
          color="red.9"
          onClick={() => onDialog("roll-back")}
          leftSection={<Icon name="undo" />}
        >
          {t("roll-back-open")}
        </ActionButton>
      </Group>
      {problem ? <ProblemNote problem={problem} /> : null}
    </Stack>
  );
}

/** An ended rollout is undone by a new one. A repair applied the plan in force, so there is nothing to return to. */
function Ended({ rollout: ro, allowed, onDialog }: Props) {
  const { t } = useTranslation("rollouts");
  const reason = ro.repair ? t("no-back-repair") : undefined;
  return (
    <ActionButton
      allowed={allowed}
      reason={reason}
      variant="default"
      onClick={() => onDialog("roll-back")}
      leftSection={<Icon name="undo" />}
    >
      {t("roll-back-open")}
    </ActionButton>
  );
}

/** Cancels a rollout: what is done stays, what is open is not written. */
export function CancelDialog({
  fabric,
  rollout: ro,
  onClose,
}: {
  fabric: string;
  rollout: Rollout;
  onClose: () => void;
}) {
  const { t } = useTranslation("rollouts");
  const cancel = useRequest(fabric, ro, "cancel");
  const c = counted(ro.devices ?? []);
  const done = c.verified + c.writing + c.reading;
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      title={t("cancel-title", { id: ro.id })}
      effect={t("cancel-do", { open: c.waiting })}
      danger
      busy={cancel.isPending}
      problem={cancel.error ?? undefined}
      onConfirm={() => cancel.mutate(undefined, { onSuccess: onClose })}
    >
      <Text>{t("cancel-effect", { done, open: c.waiting })}</Text>
      <Text size="sm">{t("cancel-back")}</Text>
    </TypedConfirm>
  );
}
