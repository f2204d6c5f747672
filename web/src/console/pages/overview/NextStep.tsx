import { Button, Stack } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import { client, data, idempotencyKey } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useCan } from "../../../shell/me";
import { ProblemNote } from "../../../ui/ProblemNote";
import { Empty } from "../../../ui/states";
import { ActionButton } from "../../parts/ActionButton";
import type { FabricOverview } from "../../parts/inForce";

/** The page of the next step, with what opens its dialog. */
const pages = {
  "no-tenants": { to: "/console/f/$fabric/tenants", search: { add: "yes" }, text: "step-tenant" },
  "no-plan": { to: "/console/f/$fabric/plans", search: { compile: "now" }, text: "step-plan" },
} as const;

/** Before a plan is in force: what would be here, and the one next step. */
export function NextStep({ overview: o }: { overview: FabricOverview }) {
  const { t } = useTranslation("overview");
  const next = pages[o.verdict === "no-tenants" ? "no-tenants" : "no-plan"];
  const action =
    o.verdict === "not-discovered" ? (
      <Discover fabric={o.fabric} />
    ) : (
      <Button
        renderRoot={(props) => (
          <Link to={next.to} params={{ fabric: o.fabric } as never} search={next.search as never} {...props} />
        )}
      >
        {t(next.text)}
      </Button>
    );
  return <Empty title={t(`empty.${o.verdict}`)} why={t(`empty-why.${o.verdict}`)} action={action} />;
}

/** Discovers the fabric. Discovery only reads: no device changes. */
function Discover({ fabric }: { fabric: string }) {
  const { t } = useTranslation("overview");
  const can = useCan();
  const queries = useQueryClient();
  const discover = useMutation({
    mutationFn: () =>
      data(
        client.POST("/api/v1/fabrics/{fabric}/discover", {
          params: { path: { fabric }, header: { "Idempotency-Key": idempotencyKey() } },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: keys.everything(fabric) }),
  });
  return (
    <Stack gap="sm" align="flex-start">
      <ActionButton
        allowed={can("fabric", "run", fabric)}
        loading={discover.isPending}
        onClick={() => discover.mutate()}
      >
        {t("step-discover")}
      </ActionButton>
      {discover.error ? <ProblemNote problem={discover.error} /> : null}
    </Stack>
  );
}
