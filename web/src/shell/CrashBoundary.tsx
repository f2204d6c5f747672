import { Button, Container, Stack, Text, Title } from "@mantine/core";
import { Component } from "react";
import { useTranslation } from "react-i18next";

/** Offers a reload where a part of the page failed: after an upgrade, the chunks of an older page are missing. */
export class CrashBoundary extends Component<{ children: React.ReactNode }, { cause?: unknown }> {
  override state: { cause?: unknown } = {};

  static getDerivedStateFromError(cause: unknown) {
    return { cause };
  }

  override render() {
    return this.state.cause === undefined ? this.props.children : <Crashed cause={this.state.cause} />;
  }
}

/** Whether a failure is that of loading a part of the page. */
function isMissingChunk(cause: unknown): boolean {
  return (
    cause instanceof Error &&
    /dynamically imported module|Importing a module script|module script failed|preload/i.test(cause.message)
  );
}

/** The page in place of one that failed. */
export function Crashed({ cause }: { cause: unknown }) {
  const { t } = useTranslation("shell");
  const old = isMissingChunk(cause);
  return (
    <Container size="sm" py="xl" role="alert" data-state={old ? "new-version" : "crashed"}>
      <Stack align="flex-start">
        <Title order={1}>{old ? t("new-version") : t("crashed")}</Title>
        <Text>{old ? t("new-version-why") : t("crashed-why")}</Text>
        <Button onClick={() => window.location.reload()}>{t("reload")}</Button>
      </Stack>
    </Container>
  );
}
