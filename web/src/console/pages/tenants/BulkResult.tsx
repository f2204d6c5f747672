import { Button, Group, List, Progress, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { useSay } from "../../../i18n/say";
import { asProblem, ProblemNote } from "../../../ui/ProblemNote";
import { useOperationKey } from "../../../ui/useOperationKey";
import { TenantName } from "../../parts/links";
import { storePlan } from "../../parts/plans";
import type { BulkSave, Refused } from "./useBulkSave";

/** How many changes are saved, which were refused and why; then a plan can be compiled. */
export function BulkResult({ fabric, save, onClose }: { fabric: string; save: BulkSave; onClose: () => void }) {
  const { t } = useTranslation(["tenants", "shell"]);
  const navigate = useNavigate();
  const key = useOperationKey("plan");
  const compile = useMutation({
    mutationFn: () => storePlan(fabric, key),
    onSuccess: (plan) =>
      void navigate({ to: "/console/f/$fabric/plans/$plan", params: { fabric, plan: plan.name } as never }),
  });
  const done = save.saved + save.refused.length;
  return (
    <Stack gap="md">
      <Progress value={(100 * done) / save.total} aria-label={t("bulk-progress")} />
      <Text role="status">
        {t("bulk-done", {
          saved: save.saved,
          refused: save.refused.length,
          total: save.total,
          ended: save.ended ? "yes" : "no",
        })}
      </Text>
      {save.refused.length > 0 ? (
        <List>
          {save.refused.map((r) => (
            <List.Item key={r.tenant}>
              <TenantName name={r.tenant} fabric={fabric} />: <Reason refused={r} />
            </List.Item>
          ))}
        </List>
      ) : null}
      {compile.error ? <ProblemNote problem={compile.error} /> : null}
      <Group justify="flex-end">
        {save.ended ? (
          <Button variant="default" onClick={onClose}>
            {t("shell:close")}
          </Button>
        ) : (
          <Button variant="default" onClick={save.stop}>
            {t("bulk-stop")}
          </Button>
        )}
        <Button disabled={!save.ended || save.saved === 0} loading={compile.isPending} onClick={() => compile.mutate()}>
          {t("compile")}
        </Button>
      </Group>
    </Stack>
  );
}

function Reason({ refused: { problem } }: { refused: Refused }) {
  const { t } = useTranslation("tenants");
  const say = useSay();
  const p = asProblem(problem);
  if (p.status === 412) return t("bulk-changed");
  return say(p.document?.said, p.document?.detail ?? p.code);
}
