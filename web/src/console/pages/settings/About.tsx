import { Anchor, Group, Stack, Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { client, data } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useLanguage } from "../../../i18n";
import { ProblemNote } from "../../../ui/ProblemNote";
import { StateBadge } from "../../../ui/StateBadge";
import { QueryView } from "../../../ui/states";
import { Part } from "../../parts/Part";
import { Doctor } from "./Doctor";

export const useVersion = () =>
  useQuery({ queryKey: keys.version(), queryFn: () => data(client.GET("/api/v1/version")) });

/** Whether the service and its store are ready: a refusal is an answer, not a failure of the page. */
export const useReady = () =>
  useQuery({ queryKey: keys.version("ready"), queryFn: () => data(client.GET("/api/v1/ready")), retry: false });

const useSeriesBuild = () =>
  useQuery({
    queryKey: keys.version("series"),
    queryFn: () => data(client.GET("/api/v1/prometheus/api/v1/status/buildinfo")),
    retry: false,
  });

/** Pages of the documentation that the service itself serves. */
const docs = ["service", "operations", "security", "telemetry", "support", "dependencies"];

/** What is running: versions, store, telemetry, the doctor's findings, documentation. */
export function About() {
  const { t } = useTranslation("settings");
  const version = useVersion();
  const language = useLanguage();
  return (
    <Stack gap="lg">
      <Part title={t("about")}>
        <QueryView query={version}>
          {(v) => (
            <Table w="auto">
              <Table.Tbody>
                <Row name={t("version")}>{v.version}</Row>
                {v.revision ? (
                  <Row name={t("revision")}>
                    <code>{v.revision}</code>
                  </Row>
                ) : null}
                <Row name={t("go-version")}>{v.go_version}</Row>
                <Row name={t("store")}>
                  <Store />
                </Row>
                <Row name={t("telemetry")}>
                  <Series />
                </Row>
              </Table.Tbody>
            </Table>
          )}
        </QueryView>
      </Part>
      <Doctor />
      <Part title={t("documentation")}>
        <Group gap="md">
          <Anchor href={`/docs?lang=${language}`} underline="always">
            {t("docs.api")}
          </Anchor>
          {docs.map((page) => (
            <Anchor key={page} href={`/docs/${page}`} underline="always">
              {t(`docs.${page}`)}
            </Anchor>
          ))}
        </Group>
      </Part>
    </Stack>
  );
}

function Row({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th scope="row">{name}</Table.Th>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{children}</Table.Td>
    </Table.Tr>
  );
}

function Store() {
  const { t } = useTranslation("settings");
  const ready = useReady();
  if (ready.data) return <StateBadge tone="good">{t("store-ready")}</StateBadge>;
  if (!ready.error) return null;
  return (
    <Stack gap="xs">
      <StateBadge tone="bad">{t("store-not-ready")}</StateBadge>
      <ProblemNote problem={ready.error} onRetry={() => void ready.refetch()} />
    </Stack>
  );
}

function Series() {
  const { t } = useTranslation("settings");
  const build = useSeriesBuild();
  if (build.error) return <ProblemNote problem={build.error} onRetry={() => void build.refetch()} />;
  const found = build.data?.data as { version?: string } | undefined;
  return found?.version ? t("telemetry-is", { version: found.version }) : null;
}
