import { Alert, Button, Paper, Skeleton, Stack, Text, Title } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Icon } from "./icons";
import { useNow } from "./now";
import { asProblem, ProblemNote } from "./ProblemNote";

/** Grey lines in place of data that is still loading, after 200 ms: a fast answer does not flash. */
export function Loading({ lines = 4 }: { lines?: number }) {
  const { t } = useTranslation("shell");
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200);
    return () => clearTimeout(timer);
  }, []);
  if (!late) return null;
  return (
    <Stack gap="sm" role="status" aria-label={t("loading")}>
      {Array.from({ length: lines }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are alike
        <Skeleton key={i} height={18} width={`${100 - ((i * 17) % 45)}%`} />
      ))}
    </Stack>
  );
}

/** What would be here, why it is not, and the one next step. */
export function Empty({ title, why, action }: { title: string; why: React.ReactNode; action?: React.ReactNode }) {
  return (
    <Paper withBorder p="lg" data-state="empty">
      <Stack gap="xs" align="flex-start">
        <Title order={2}>{title}</Title>
        <Text c="dimmed">{why}</Text>
        {action}
      </Stack>
    </Paper>
  );
}

/** Says that a part of the data is missing, and which. */
export function Partial({ children }: { children: React.ReactNode }) {
  const { t } = useTranslation("shell");
  return (
    <Alert color="yellow" variant="light" icon={<Icon name="warning" />} title={t("partial")} data-state="partial">
      {children}
    </Alert>
  );
}

/** Says that the reader's roles do not include this. */
export function NoRight() {
  const { t } = useTranslation("shell");
  return (
    <Paper withBorder p="lg" data-state="no-right">
      <Stack gap="xs" align="flex-start">
        <Title order={2}>{t("no-right")}</Title>
        <Text c="dimmed">{t("no-right-why")}</Text>
      </Stack>
    </Paper>
  );
}

type Queried<T> = Pick<UseQueryResult<T>, "data" | "error" | "isPending" | "refetch"> &
  Partial<Pick<UseQueryResult<T>, "failureReason" | "isFetching">>;

/** Shortest wait of which the page speaks, in milliseconds: a shorter one would flash. */
const worthSaying = 2000;

/** Says when a read that failed is tried again by itself. */
function NextAttempt({ query }: { query: Queried<unknown> }) {
  const { t } = useTranslation("shell");
  const now = useNow(1);
  const problem = query.isFetching && query.failureReason ? asProblem(query.failureReason) : undefined;
  const [said, setSaid] = useState<number>();
  const at = problem?.nextAttempt;
  useEffect(() => setSaid(at !== undefined && at - Date.now() >= worthSaying ? at : undefined), [at]);
  if (!problem || said === undefined || said !== at) return null;
  const seconds = Math.max(0, Math.ceil((at - now) / 1000));
  return (
    <Text size="sm" role="status" mb="sm" data-next-attempt={problem.code}>
      {t("next-attempt", { code: problem.code, seconds })}
    </Text>
  );
}

/**
 * The states of a query: loading, failed, no right, and its data. Data that was read before stays in view when a later read
 * fails, with the problem above it.
 */
export function QueryView<T>({
  query,
  lines,
  children,
}: {
  query: Queried<T>;
  lines?: number;
  children: (data: T) => React.ReactNode;
}) {
  const { t } = useTranslation("shell");
  if (query.data !== undefined) {
    return (
      <>
        <NextAttempt query={query} />
        {query.error ? (
          <Stack gap="xs" mb="sm">
            <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />
            <Text size="sm">{t("shown-is-old")}</Text>
          </Stack>
        ) : null}
        {children(query.data)}
      </>
    );
  }
  if (!query.error)
    return (
      <>
        <NextAttempt query={query} />
        <Loading lines={lines} />
      </>
    );
  if (asProblem(query.error).status === 403) return <NoRight />;
  if (asProblem(query.error).status === 404) return <Missing />;
  return <ProblemNote problem={query.error} onRetry={() => void query.refetch()} />;
}

/** The one answer to an unknown address and to an object that the reader may not see. */
export function Missing() {
  const { t } = useTranslation("shell");
  const title = t("not-found");
  useEffect(() => {
    document.title = `${title} · Fairlane`; // inside of a page, the page's own effect comes later and names it
  }, [title]);
  return (
    <Paper withBorder p="lg" data-state="not-found">
      <Stack gap="xs" align="flex-start">
        <Title order={1}>{title}</Title>
        <Text c="dimmed">{t("not-found-why")}</Text>
        <Button component="a" href="/" variant="default">
          {t("to-start")}
        </Button>
      </Stack>
    </Paper>
  );
}
