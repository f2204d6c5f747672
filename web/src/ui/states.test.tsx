import { act, cleanup, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Problem } from "../api/problem";
import { retryDelay } from "../api/queries";
import { QueryView } from "./states";
import { renderUi } from "./testing/harness";

/** Sentences of the service in English: their templates are a part of the page that loads later. */
vi.mock("../i18n/say", () => ({ useSay: () => (_: unknown, text: string) => text }));

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

/** A query whose last attempt failed with 503 and Retry-After, and which waits for the next one. */
function waiting(after: number | undefined, data?: string) {
  const failureReason = new Problem("overloaded", 503, undefined, after);
  retryDelay(0, failureReason);
  return {
    data,
    error: null,
    isPending: data === undefined,
    isFetching: true,
    failureReason,
    refetch: vi.fn(),
  } as never;
}

const show = (query: never) => renderUi(<QueryView<string> query={query}>{(text) => <p>{text}</p>}</QueryView>);
const said = () => document.querySelector("[data-next-attempt]")?.textContent;

test("a read that waits says when it is sent again, also while older data is shown", async () => {
  await show(waiting(20));
  expect(said()).toBe("The service cannot answer now (code overloaded). Next attempt in 20 seconds.");
  act(() => void vi.advanceTimersByTime(19_000));
  expect(said()).toContain("in 1 second.");
  act(() => void vi.advanceTimersByTime(1000));
  expect(said()).toContain("Trying again.");
  cleanup();
  await show(waiting(3600, "rows"));
  expect(said()).toContain("in 60 seconds.");
  expect(screen.getByText("rows")).toBeTruthy();
});

test("a wait of a second is not worth a line", async () => {
  await show(waiting(1));
  expect(said()).toBeUndefined();
  cleanup();
  await show({ data: "rows", error: null, isPending: false, isFetching: false, failureReason: null } as never);
  expect(said()).toBeUndefined();
});

test("a problem of the service links to the page that explains its code, and to no other place", async () => {
  const failed = (type: string) => {
    const document = { type, title: "Invalid request", status: 422, code: "invalid", request_id: "7f" };
    return { error: new Problem("invalid", 422, document as never), isPending: false, refetch: vi.fn() } as never;
  };
  await show(failed("/docs/problems#invalid"));
  const link = screen.getByRole("link", { name: /What this code means/ });
  expect(link.getAttribute("href")).toBe("/docs/problems?lang=en#invalid");
  cleanup();
  await show(failed("https://example.net/docs/problems#invalid"));
  expect(screen.getByText("Code invalid, request 7f")).toBeTruthy();
  expect(screen.queryByRole("link")).toBeNull();
});
