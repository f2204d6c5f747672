import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { asProblem } from "../../../ui/ProblemNote";
import { QueryView } from "../../../ui/states";
import { TypedConfirm } from "../../../ui/TypedConfirm";
import { CompiledPreview } from "../../parts/CompiledPreview";
import { Part } from "../../parts/Part";
import { useDryCompile } from "../plan/queries";
import { PolicyDifferenceView } from "./PolicyDifferenceView";
import { usePolicyDifference, useRestore } from "./queries";

type Props = { fabric: string; revision: number; latest: number; onClose: () => void };

/** Shows what restoring a revision changes and gives, restores it, and leads on to a plan: devices change only with a rollout. */
export function RestoreDialog({ fabric, revision, latest, onClose }: Props) {
  const { t } = useTranslation("policies");
  const difference = usePolicyDifference(fabric, revision, latest);
  const compiled = useDryCompile(fabric, { policy: revision });
  const restore = useRestore(fabric, revision, latest);
  if (restore.data)
    return <Restored fabric={fabric} revision={revision} as={restore.data.revision} onClose={onClose} />;
  return (
    <TypedConfirm
      opened
      onClose={onClose}
      size="70rem"
      title={t("restore-title", { revision })}
      effect={t("restore", { revision })}
      busy={restore.isPending}
      problem={restore.error ?? undefined}
      disabled={!difference.data || compiled.isFetching} // a revision that no longer compiles can be restored, and mended
      onConfirm={() => restore.mutate()}
    >
      <Text size="sm">{t("restore-why", { revision, next: latest + 1 })}</Text>
      <Part title={t("restore-changes")}>
        <QueryView query={difference}>{(d) => <PolicyDifferenceView difference={d} />}</QueryView>
      </Part>
      <Part title={t("restore-gives")}>
        <QueryView query={compiled}>{(plan) => <CompiledPreview fabric={fabric} plan={plan} />}</QueryView>
      </Part>
      {restore.error && asProblem(restore.error).status === 412 ? <Text size="sm">{t("restore-moved")}</Text> : null}
    </TypedConfirm>
  );
}

function Restored({
  fabric,
  revision,
  as,
  onClose,
}: {
  fabric: string;
  revision: number;
  as: number;
  onClose: () => void;
}) {
  const { t } = useTranslation(["policies", "shell"]);
  const navigate = useNavigate();
  return (
    <Modal
      opened
      onClose={onClose}
      title={t("restore-title", { revision })}
      closeButtonProps={{ "aria-label": t("shell:close") }}
    >
      <Stack gap="md">
        <Text role="status">{t("restored", { revision, as })}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("shell:close")}
          </Button>
          <Button
            data-autofocus
            onClick={() =>
              void navigate({
                to: "/console/f/$fabric/plans",
                params: { fabric } as never,
                search: { compile: "now" } as never,
              })
            }
          >
            {t("compile")}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
