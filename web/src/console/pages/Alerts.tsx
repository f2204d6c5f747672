import { Stack } from "@mantine/core";
import { useCallback, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useFabricName } from "../../shell/fabrics";
import { shellWord } from "../../ui/CopyAs";
import { Page } from "../../ui/Page";
import { ProblemNote } from "../../ui/ProblemNote";
import { Partial, QueryView } from "../../ui/states";
import { sortOf, sortText } from "../../ui/table/sort";
import { useUrlState } from "../../ui/useUrlState";
import { Part } from "../parts/Part";
import { AlertTable } from "./alerts/AlertTable";
import { BudgetTable } from "./alerts/BudgetTable";
import { BurnChart } from "./alerts/BurnChart";
import { Objectives } from "./alerts/Objectives";
import { budgetsOf, measured, useAlerts, useBurn, useObjectives, worst } from "./alerts/queries";
import { Silences } from "./alerts/Silences";
import { Maintenance } from "./maintenance/Maintenance";

/** Alerts, error budgets with their burn rates, objectives and silences. */
export default function Alerts() {
  const { t } = useTranslation(["alerts", "shell"]);
  const fabric = useFabricName();
  const [url, setUrl] = useUrlState({ tenant: "", filter: "", sort: "", last: "", from: "", to: "" });
  const alerts = useAlerts(fabric);
  const objectives = useObjectives(fabric);
  const burn = useBurn(fabric);
  const budgets = useMemo(() => budgetsOf(objectives.data?.items ?? [], burn.data), [objectives.data, burn.data]);
  const fastest = budgets[0];
  const firing = alerts.data?.filter((a) => a.state === "firing").length;
  const choose = useCallback((tenant: string) => setUrl({ tenant }), [setUrl]);
  const sentence = () =>
    fastest && worst(fastest) > 0
      ? t("answer-burns", { firing, tenant: fastest.tenant, over: worst(fastest) >= 1 ? "yes" : "no" })
      : t(budgets.some(measured) ? "answer-calm" : "answer-unmeasured", { firing });
  return (
    <Page
      title={t("shell:nav.alerts")}
      answer={firing !== undefined && burn.data && objectives.data ? sentence() : undefined}
      copy={{
        command: `fairlane alert list --fabric ${shellWord(fabric)}`,
        api: "GET /api/v1/prometheus/api/v1/alerts",
      }}
      ready={
        alerts.data !== undefined && objectives.data !== undefined && (burn.data !== undefined || burn.error !== null)
      }
    >
      <Stack gap="lg">
        <Part title={t("alerts")}>
          <QueryView query={alerts}>{(list) => <AlertTable fabric={fabric} alerts={list} />}</QueryView>
        </Part>
        <Part title={t("budgets")}>
          <QueryView query={objectives}>
            {() => (
              <>
                {burn.error && !burn.data ? (
                  <Partial>
                    {t("burn-missing")}
                    <ProblemNote problem={burn.error} onRetry={() => void burn.refetch()} />
                  </Partial>
                ) : null}
                <BudgetTable
                  fabric={fabric}
                  budgets={budgets}
                  chosen={url.tenant}
                  onChoose={choose}
                  filter={url.filter}
                  onFilter={(filter) => setUrl({ filter })}
                  sort={sortOf(url.sort)}
                  onSort={(sort) => setUrl({ sort: sortText(sort) })}
                />
              </>
            )}
          </QueryView>
        </Part>
        {url.tenant ? <BurnChart fabric={fabric} tenant={url.tenant} url={url} onUrl={setUrl} /> : null}
        <Objectives fabric={fabric} standard={objectives.data?.standard} items={objectives.data?.items ?? []} />
        <Silences fabric={fabric} />
        <Maintenance fabric={fabric} />
      </Stack>
    </Page>
  );
}
