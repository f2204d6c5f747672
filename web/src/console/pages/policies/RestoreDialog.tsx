import { Button, Group, Modal, Stack, Text, Title } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { asProblem, ProblemNote } from "../../../ui/ProblemNote";
import { QueryView } from "../../../ui/states";
import { CompiledPreview } from "../../parts/CompiledPreview";
import { useDryCompile } from "../plan/queries";
import { PolicyDifferenceView } from "./PolicyDifferenceView";
import { usePolicyDifference, useRestore } from "./queries";

type Props = { fabric: string; revision: number; latest: number; onClose: () => void };

/** Shows what restoring a revision changes and gives, restores it, and leads on to a plan: devices change only with a rollout. */
export function RestoreDialog({ fabric, revision, latest, onClose }: Props) {
  const { t } = useTranslation(["policies", "shell"]);
  const restore = useRestore(fabric, revision, latest);
  const done = restore.data;
  return (
    <Modal
      opened
      onClose={onClose}
      size="70rem"
      title={t("restore-title", { revision })}
      closeButtonProps={{ "aria-label": t("shell:close") }}
    >
      {done ? (
        <Restored fabric={fabric} revision={revision} as={done.revision} onClose={onClose} />
      ) : (
        <Stack gap="md">
          <Preview fabric={fabric} revision={revision} latest={latest} />
          {restore.error ? <ProblemNote problem={restore.error} /> : null}
          {restore.error && asProblem(restore.error).status === 412 ? (
            <Text size="sm">{t("restore-moved")}</Text>
          ) : null}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t("shell:cancel")}
            </Button>
            <Button onClick={() => restore.mutate()} loading={restore.isPending}>
              {t("restore", { revision })}
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

function Preview({ fabric, revision, latest }: Omit<Props, "onClose">) {
  const { t } = useTranslation("policies");
  const difference = usePolicyDifference(fabric, revision, latest);
  const compiled = useDryCompile(fabric, { policy: revision }, true);
  return (
    <Stack gap="md">
      <Text size="sm">{t("restore-why", { revision, next: latest + 1 })}</Text>
      <section>
        <Title order={2} mb="xs">
          {t("restore-changes")}
        </Title>
        <QueryView query={difference}>{(d) => <PolicyDifferenceView difference={d} />}</QueryView>
      </section>
      <section>
        <Title order={2} mb="xs">
          {t("restore-gives")}
        </Title>
        <QueryView query={compiled}>{(plan) => <CompiledPreview fabric={fabric} plan={plan} />}</QueryView>
      </section>
    </Stack>
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
  );
}
