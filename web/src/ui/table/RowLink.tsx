import { useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";

/** A link to a page of this application: a plain click stays in the application, any other click is the browser's. */
export function RowLink({ href, children }: { href: string; children: ReactNode }) {
  const router = useRouter({ warn: false });
  const click = (e: MouseEvent) => {
    if (
      !router ||
      e.button !== 0 ||
      e.metaKey ||
      e.ctrlKey ||
      e.shiftKey ||
      e.altKey ||
      /^[a-z]+:|^\/\/|^#/i.test(href)
    )
      return;
    e.preventDefault();
    router.history.push(href);
  };
  return (
    <a href={href} onClick={click} className="fl-link">
      {children}
    </a>
  );
}
