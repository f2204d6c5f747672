import { Group, Stack, Title } from "@mantine/core";
import { useRouterState } from "@tanstack/react-router";
import { useEffect, useLayoutEffect, useRef } from "react";
import { CopyAs, type CopyAsProps } from "./CopyAs";
import { Quoted } from "./Said";

type PageProps = {
  /** What the page is about, for its heading: the object's name, or the page's. */
  title: string;
  /** The page's own name, where the title is an object's name. */
  page?: string;
  /** The page's answer to its question, in one sentence. */
  answer?: React.ReactNode;
  /** Badges beside the heading. */
  badges?: React.ReactNode;
  /** Buttons at the end of the heading's line. */
  actions?: React.ReactNode;
  /** What reproduces the page outside the browser. */
  copy?: CopyAsProps;
  /** Whether the data of the page is shown: tests and readers wait for it. */
  ready?: boolean;
  children?: React.ReactNode;
};

/** The frame of a page: title of the document, heading that takes the focus after a change of the route, answer and actions. */
export function Page({ title, page, answer, badges, actions, copy, ready = true, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const path = useRouterState({ select: (s) => s.location.pathname });
  const first = useRef(firstPage);
  const focused = useRef("");
  useEffect(() => {
    document.title = [title, page, "Fairlane"].filter(Boolean).join(" · ");
  }, [title, page]);
  // A layout effect, since it also runs when the page returns from behind a fallback, which took the focus.
  useLayoutEffect(() => {
    const lost = document.activeElement === null || document.activeElement === document.body;
    if (!first.current && (lost || focused.current !== path)) heading.current?.focus({ preventScroll: true });
    focused.current = path;
    first.current = false;
    firstPage = false;
  }, [path]);
  return (
    <Stack gap="md" component="article" data-ready={ready ? "true" : undefined} data-page={page ?? title}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <div style={{ minWidth: 0, flex: "1 1 20rem" }}>
          <Group gap="sm" align="center">
            <Title order={1} ref={heading} tabIndex={-1} className="fl-name">
              {title}
            </Title>
            {badges}
          </Group>
          {answer ? (
            <div className="fl-question">{typeof answer === "string" ? <Quoted text={answer} /> : answer}</div>
          ) : null}
        </div>
        <Group gap="xs" className="fl-no-print">
          {actions}
          {copy ? <CopyAs {...copy} /> : null}
        </Group>
      </Group>
      {children}
    </Stack>
  );
}

/** The first page after a load keeps the browser's own focus. */
let firstPage = true;
