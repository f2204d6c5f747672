import { Stack } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Schemas } from "../../api/client";
import { useSay } from "../../i18n/say";
import { useFabricName, useFabrics } from "../../shell/fabrics";
import { shellWord } from "../../ui/CopyAs";
import { Page } from "../../ui/Page";
import { Empty, QueryView } from "../../ui/states";
import { useUrlState } from "../../ui/useUrlState";
import { useInForce } from "../parts/inForce";
import { LabelDialog } from "./policies/LabelDialog";
import { OptionsPart } from "./policies/OptionsForm";
import { usePolicies } from "./policies/queries";
import { RestoreDialog } from "./policies/RestoreDialog";
import { RevisionPart } from "./policies/RevisionPart";
import { RevisionTable } from "./policies/RevisionTable";
import { before, pairOf } from "./policies/values";

/** The rules and their history: revisions with their differences and labels, restoring, and the compiler's options. */
export default function Policies() {
  const { t } = useTranslation(["policies", "shell"]);
  const fabric = useFabricName();
  const plane = useFabrics().data?.find((f) => f.name === fabric)?.plane;
  const policies = usePolicies(fabric);
  const inForce = useInForce(fabric);
  const [url] = useUrlState({ revision: "", against: "" });
  const compared = url.revision && url.against ? ` ${url.revision} --against ${url.against}` : "";
  return (
    <Page
      title={t("shell:nav.policies")}
      answer={policies.data && inForce.known ? <Answer list={policies.data} inForce={inForce.plan?.policy} /> : null}
      copy={
        compared
          ? {
              command: `fairlane policy diff${compared} --fabric ${shellWord(fabric)}`,
              api: `GET /api/v1/fabrics/${fabric}/policies/${url.revision}/diff?against=${url.against}`,
            }
          : {
              command: `fairlane policy list --fabric ${shellWord(fabric)}`,
              api: `GET /api/v1/fabrics/${fabric}/policies`,
            }
      }
      ready={policies.data !== undefined && inForce.known}
    >
      <Stack gap="lg">
        <QueryView query={policies}>
          {(list) => <Revisions fabric={fabric} list={list} inForce={inForce.plan?.policy} />}
        </QueryView>
        <OptionsPart fabric={fabric} plane={plane} />
      </Stack>
    </Page>
  );
}

type ListProps = { list: Schemas["Policy"][]; inForce: number | undefined };

function Answer({ list, inForce }: ListProps) {
  const { t } = useTranslation("policies");
  const say = useSay();
  const latest = list[0];
  if (!latest) return <span>{t("answer-none")}</span>;
  return (
    <span>
      {t("answer", {
        revision: latest.revision,
        message: say(latest.said, latest.message),
        tenants: latest.tenants,
        flows: latest.flows,
        state: inForce === undefined ? "none" : inForce === latest.revision ? "same" : "older",
        inForce: inForce ?? 0,
      })}
    </span>
  );
}

function Revisions({ fabric, list, inForce }: ListProps & { fabric: string }) {
  const { t } = useTranslation("policies");
  const navigate = useNavigate();
  const [url, setUrl] = useUrlState({ revision: "", against: "", filter: "", dialog: "" });
  const revisions = list.map((p) => p.revision);
  const latest = revisions[0] ?? 0;
  const revision = revisions.includes(Number(url.revision)) ? Number(url.revision) : latest;
  const against = revisions.includes(Number(url.against)) ? Number(url.against) : before(revisions, revision);
  const selected = new Set([url.against, url.revision].filter((r) => r !== ""));
  const close = () => setUrl({ dialog: "" });
  return (
    <>
      <RevisionTable
        fabric={fabric}
        list={list}
        inForce={inForce}
        selected={selected}
        onSelect={(s) => setUrl(pairOf(s) ?? { revision: [...s][0] ?? "", against: "" })}
        filter={url.filter}
        onFilter={(filter) => setUrl({ filter })}
        empty={<Empty title={t("empty")} why={t("empty-why")} />}
      />
      {revision > 0 ? (
        <RevisionPart
          fabric={fabric}
          list={list}
          revision={revision}
          against={against}
          onAgainst={(a) => setUrl({ revision: String(revision), against: a })}
          onRestore={() => setUrl({ dialog: "restore", revision: String(revision) })}
          onLabel={() => setUrl({ dialog: "label", revision: String(revision) })}
          onCompile={() =>
            void navigate({
              to: "/console/f/$fabric/plans",
              params: { fabric } as never,
              search: { compile: String(revision) } as never,
            })
          }
        />
      ) : null}
      {url.dialog === "restore" && revision > 0 && revision !== latest ? (
        <RestoreDialog fabric={fabric} revision={revision} latest={latest} onClose={close} />
      ) : null}
      {url.dialog === "label" && revision > 0 ? (
        <LabelDialog
          fabric={fabric}
          revision={revision}
          label={list.find((p) => p.revision === revision)?.label ?? ""}
          onClose={close}
        />
      ) : null}
    </>
  );
}
