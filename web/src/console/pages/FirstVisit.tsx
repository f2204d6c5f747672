import { Button, Group, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { keys } from "../../api/keys";
import { useCan } from "../../shell/me";
import { Page } from "../../ui/Page";
import { Part } from "../parts/Part";
import { ImportTenants } from "./first/ImportTenants";
import { Simulator, simulated } from "./first/Simulator";
import { Steps } from "./first/Steps";
import { AddFabric } from "./settings/AddFabric";
import { emptyFabric } from "./settings/fabricForm";
import { useAddFabric } from "./settings/useAddFabric";

/**
 * The page of a service without a fabric: what will be here, and three first steps. The list of fabrics is read again only
 * when the reader leaves, since the start page shows this one only while the list is empty.
 */
export default function FirstVisit() {
  const { t } = useTranslation(["first", "shell"]);
  const can = useCan();
  const allowed = can("fabric", "write");
  const [form, setForm] = useState(emptyFabric);
  const adding = useAddFabric(form, () => undefined);
  const place = useRef<HTMLDivElement>(null);
  return (
    <Page
      title={t("title")}
      page={t("shell:nav.start")}
      answer={allowed ? t("answer") : t("answer-reader")}
      copy={{ command: "fairlane fabric list", api: "GET /api/v1/fabrics" }}
    >
      <Stack gap="xl">
        <Steps />
        <div ref={place} data-part="discover">
          <Part title={t("discover")}>
            <Stack gap="sm">
              <Text size="sm">{t("discover-why")}</Text>
              <AddFabric form={form} onForm={setForm} adding={adding} next={<Next fabric={adding.added ?? ""} />} />
            </Stack>
          </Part>
        </div>
        <Part title={t("simulator")}>
          <Simulator
            disabled={!allowed || adding.added !== undefined}
            onUse={() => {
              setForm(simulated);
              place.current?.querySelector<HTMLElement>("[type=submit]")?.focus();
            }}
          />
        </Part>
        <Part title={t("import")}>
          <ImportTenants fabric={adding.snapshot ? adding.added : undefined} />
        </Part>
      </Stack>
    </Page>
  );
}

/** What follows the discovery: the first tenant, or the fabric's overview. */
function Next({ fabric }: { fabric: string }) {
  const { t } = useTranslation("first");
  const cache = useQueryClient();
  const navigate = useNavigate();
  const go = (page: string, search: Record<string, string>) => {
    void navigate({ to: `/console/f/$fabric/${page}`, params: { fabric }, search } as never).then(() =>
      cache.invalidateQueries({ queryKey: keys.fabrics() }),
    );
  };
  return (
    <Group gap="sm">
      <Button onClick={() => go("tenants", { add: "yes" })}>{t("next-tenant")}</Button>
      <Button variant="default" onClick={() => go("overview", {})}>
        {t("next-overview", { fabric })}
      </Button>
    </Group>
  );
}
