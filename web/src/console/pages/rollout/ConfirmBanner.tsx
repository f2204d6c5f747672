import { Alert, Group, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFormat } from "../../../format/useFormat";
import { Icon } from "../../../ui/icons";
import { useNow } from "../../../ui/now";
import { ProblemNote } from "../../../ui/ProblemNote";
import { When } from "../../../ui/When";
import { ActionButton } from "../../parts/ActionButton";
import type { Rollout } from "./model";
import { useRequest } from "./queries";

type Props = { fabric: string; rollout: Rollout; allowed: boolean; onRollBack: () => void };

/** The countdown of a rollout that awaits confirmation, with the buttons that confirm it and roll it back. */
export function ConfirmBanner({ fabric, rollout: ro, allowed, onRollBack }: Props) {
  const { t } = useTranslation("rollouts");
  const { duration } = useFormat();
  const confirm = useRequest(fabric, ro, "confirm");
  const now = useNow(1);
  const left = ro.confirm_by ? Math.max(0, (Date.parse(ro.confirm_by) - now) / 1000) : undefined;
  return (
    <Alert
      color="cyan"
      variant="light"
      icon={<Icon name="clock" />}
      title={
        <span role="timer" aria-live="off">
          {left === undefined ? t("confirm-title-soon") : t("confirm-title", { left: duration(left) })}
        </span>
      }
      data-confirm={ro.id}
    >
      <Stack gap="sm">
        <Text size="sm">
          {ro.options?.verify_shares ? t("confirm-verify") : t("confirm-why")}
          {t("gap")}
          {ro.confirm_by ? <When at={ro.confirm_by} /> : null}
        </Text>
        {confirm.error ? <ProblemNote problem={confirm.error} /> : null}
        <Group gap="sm">
          <ActionButton
            allowed={allowed}
            loading={confirm.isPending || confirm.isSuccess}
            onClick={() => confirm.mutate()}
            leftSection={<Icon name="check" />}
          >
            {t("confirm-do", { n: ro.devices?.length ?? 0 })}
          </ActionButton>
          <ActionButton allowed={allowed} variant="default" onClick={onRollBack} leftSection={<Icon name="undo" />}>
            {t("roll-back-now")}
          </ActionButton>
        </Group>
      </Stack>
    </Alert>
  );
}
