import { Alert, Anchor, Button, Group, List, Stack, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { Problem, type ProblemDocument } from "../api/problem";
import { useLanguage } from "../i18n";
import { useSay } from "../i18n/say";
import { Icon } from "./icons";
import { Said } from "./Said";

/** The fields that the service found wrong: JSON pointer, and what is allowed. */
export function fieldErrors(problem: Problem): NonNullable<ProblemDocument["errors"]> {
  return problem.document?.errors ?? [];
}

/** Titles of failures that the service did not word. */
const ownTitles: Record<string, string> = {
  unreachable: "problem-unreachable",
  garbled: "problem-garbled",
  "page-fault": "problem-unexpected",
};

/** Says what failed, in the reader's language: title, cause, fields, the request's id, and a button to retry. */
export function ProblemNote({
  problem,
  onRetry,
  hideFields,
}: {
  problem: unknown;
  onRetry?: () => void;
  hideFields?: boolean;
}) {
  const { t } = useTranslation("shell");
  const say = useSay();
  const p = asProblem(problem);
  const own = ownTitles[p.code];
  const title = own ? t(own) : say({ id: `title.${p.code}` }, p.document?.title ?? t("problem-unexpected"));
  const detail = p.document?.detail;
  return (
    <Alert color="red" variant="light" title={title} icon={<Icon name="warning" />} role="alert" data-problem={p.code}>
      <Stack gap="xs">
        {detail || p.document?.said ? (
          <Text size="sm">
            <Said said={p.document?.said} english={detail} />
          </Text>
        ) : null}
        {hideFields ? null : (
          <List size="sm">
            {fieldErrors(p).map((e) => (
              <List.Item key={`${e.pointer} ${e.detail}`}>
                <code>{e.pointer}</code> <Said said={e.said} english={e.detail} />
              </List.Item>
            ))}
          </List>
        )}
        <Group gap="md">
          {onRetry ? (
            <Button size="compact-sm" variant="default" onClick={onRetry}>
              {t("try-again")}
            </Button>
          ) : null}
          <Text size="xs" c="dimmed">
            {p.document?.request_id
              ? t("problem-request", { code: p.code, id: p.document.request_id })
              : t("problem-code", { code: p.code })}
          </Text>
          <DocsLink type={p.document?.type} />
        </Group>
      </Stack>
    </Alert>
  );
}

/** A link to the page that explains a problem's code: in a new tab, so that a form is not lost. Only pages of the service itself. */
function DocsLink({ type }: { type: string | undefined }) {
  const { t } = useTranslation("shell");
  const language = useLanguage();
  const [page = "", code = ""] = type?.split("#") ?? [];
  if (!/^\/docs\/[a-z-]+$/.test(page)) return null;
  return (
    <Anchor href={`${page}?lang=${language}#${encodeURIComponent(code)}`} target="_blank" size="xs" underline="always">
      {t("problem-page")}
    </Anchor>
  );
}

/** Whatever was thrown, as a problem: an unexpected fault of the page has the code `page-fault`. */
export function asProblem(cause: unknown): Problem {
  return cause instanceof Problem ? cause : new Problem("page-fault", 0);
}
