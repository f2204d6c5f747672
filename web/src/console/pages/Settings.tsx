import { Stack } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useFabrics } from "../../shell/fabrics";
import { useCan, useMe } from "../../shell/me";
import { Page } from "../../ui/Page";
import { NoRight, QueryView } from "../../ui/states";
import { Part } from "../parts/Part";
import { About, useReady, useVersion } from "./settings/About";
import { Fabrics } from "./settings/Fabrics";
import { Runtime } from "./settings/Runtime";

/** What is running, whether it is healthy, and what it manages. */
export default function Settings() {
  const { t } = useTranslation(["settings", "shell"]);
  const can = useCan();
  const me = useMe();
  const fabrics = useFabrics();
  const version = useVersion();
  const ready = useReady();
  const asked = ready.data !== undefined || ready.error !== null;
  return (
    <Page
      title={t("shell:nav.settings")}
      answer={
        version.data && fabrics.data && asked
          ? t("answer", {
              version: version.data.version,
              ready: ready.data ? "yes" : "no",
              fabrics: fabrics.data.length,
            })
          : undefined
      }
      copy={{ command: "fairlane settings show", api: "GET /api/v1/settings" }}
      ready={version.data !== undefined && fabrics.data !== undefined && asked && me.data !== undefined}
    >
      <Stack gap="lg">
        <Part title={t("fabrics")}>
          <QueryView query={fabrics}>{(list) => <Fabrics fabrics={list} />}</QueryView>
        </Part>
        <Part title={t("runtime")}>{me.data && !can("settings", "read") ? <NoRight /> : <Runtime />}</Part>
        <About />
      </Stack>
    </Page>
  );
}
