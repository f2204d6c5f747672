import { Stack } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFabricName } from "../../shell/fabrics";
import { shellWord } from "../../ui/CopyAs";
import { Page } from "../../ui/Page";
import { QueryView } from "../../ui/states";
import { useUrlState } from "../../ui/useUrlState";
import { useDifferenceSentence } from "../parts/DifferenceView";
import { useWhatIf } from "../parts/plans";
import { EditForm } from "./whatif/EditForm";
import { parseEdits } from "./whatif/edits";
import { Outcome } from "./whatif/Outcome";
import { SimulationResult } from "./whatif/SimulationResult";
import { Simulations } from "./whatif/Simulations";

/** What tenants would get after edits, such as another weight, a new tenant or a failed link; and simulations of stored plans. */
export default function WhatIf() {
  const { t } = useTranslation(["whatif", "shell"]);
  const fabric = useFabricName();
  const [url, setUrl] = useUrlState({ edits: "", simulation: "" });
  const edits = parseEdits(url.edits);
  const sentence = useDifferenceSentence();
  const query = useWhatIf(fabric, edits);
  const flags = edits.map((e) => ` --edit ${shellWord(e)}`).join("");
  return (
    <Page
      title={t("shell:nav.what-if")}
      answer={edits.length === 0 ? t("question") : query.data ? sentence(query.data.difference) : undefined}
      copy={{
        command: flags ? `fairlane plan what-if --fabric ${shellWord(fabric)}${flags}` : undefined,
        api: `POST /api/v1/fabrics/${encodeURIComponent(fabric)}/plans/what-if`,
        body: edits.length > 0 ? { edits } : undefined,
      }}
      ready={edits.length === 0 || query.data !== undefined || query.error !== null}
    >
      <Stack gap="lg">
        <EditForm fabric={fabric} text={url.edits} onCompare={(text) => setUrl({ edits: text }, true)} />
        {edits.length > 0 ? (
          <QueryView query={query}>{(whatIf) => <Outcome fabric={fabric} whatIf={whatIf} />}</QueryView>
        ) : null}
        {/^\d+$/.test(url.simulation) ? <SimulationResult id={Number(url.simulation)} /> : null}
        <Simulations fabric={fabric} edits={url.edits} onOpen={(id) => setUrl({ simulation: id }, true)} />
      </Stack>
    </Page>
  );
}
