import { Button, Code, CopyButton, Group, Popover, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Icon } from "./icons";

export type CopyAsProps = {
  /** The command of the CLI that prints what the page shows, such as `fairlane tenant show gold --fabric lab`; none where there is none. */
  command?: string;
  /** The request of the API, such as `GET /api/v1/fabrics/lab/tenants/gold`. */
  api: string;
  /** The body of the request, as JSON. */
  body?: unknown;
};

/** The request as a command of curl: the token comes from the environment. */
function curlOf(api: string, origin: string, body?: unknown): string {
  const [method = "GET", path = api] = api.includes(" ") ? api.split(" ", 2) : ["GET", api];
  const verb = method === "GET" ? "" : `-X ${method} `;
  const sent = body === undefined ? "" : ` --json ${shellWord(JSON.stringify(body))}`;
  return `curl -sS ${verb}-H "Authorization: Bearer $FAIRLANE_TOKEN"${sent} '${origin}${path.replaceAll("'", "%27")}'`;
}

/** Quotes a word for a POSIX shell. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Offers the page as a command and as a call of the API. */
export function CopyAs({ command, api, body }: CopyAsProps) {
  const { t } = useTranslation("shell");
  const curl = curlOf(api, window.location.origin, body);
  return (
    <Popover width={420} position="bottom-end" trapFocus returnFocus shadow="md">
      <Popover.Target>
        <Button variant="default" leftSection={<Icon name="copy" />}>
          {t("copy-as")}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t("copy-as")}>
        <Stack gap="sm">
          {command ? (
            <Copyable label={t("copy-command")} text={command} />
          ) : (
            <Text size="sm">{t("copy-no-command")}</Text>
          )}
          <Copyable label={t("copy-api")} text={curl} />
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

/** A text in a box with a button that copies it and says so. */
export function Copyable({ label, text }: { label: string; text: string }) {
  const { t } = useTranslation("shell");
  return (
    <div>
      <Group justify="space-between" mb={4}>
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button size="compact-sm" variant="light" onClick={copy} aria-label={t("copy-what", { what: label })}>
              <span aria-live="polite">{copied ? t("copied") : t("copy")}</span>
            </Button>
          )}
        </CopyButton>
      </Group>
      <Code block tabIndex={0} style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {text}
      </Code>
    </div>
  );
}
