import { act, cleanup, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Problem } from "../api/problem";
import { retryDelay } from "../api/queries";
import { QueryView } from "./states";
import { renderUi } from "./testing/harness";

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
