import { afterEach, expect, test, vi } from "vitest";
import { Problem } from "./problem";
import { newQueryClient, retryDelay } from "./queries";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const busy = (after?: number) => new Problem("overloaded", 503, undefined, after);

test("a retry waits as long as the service asks for, at most a minute, and the problem has its time", () => {
  vi.useFakeTimers({ now: 1_000_000 });
  for (const [after, wait] of [
    [0, 0],
    [20, 20_000],
    [60, 60_000],
    [3600, 60_000],
    [1e9, 60_000],
  ] as const) {
    const problem = busy(after);
    expect(retryDelay(0, problem)).toBe(wait);
    expect(problem.nextAttempt).toBe(1_000_000 + wait);
  }
});

test("without Retry-After, waits double from half a second, with up to half of it more", () => {
  vi.spyOn(Math, "random").mockReturnValue(0);
  expect([0, 1, 2].map((n) => retryDelay(n, busy()))).toEqual([500, 1000, 2000]);
  vi.spyOn(Math, "random").mockReturnValue(0.999);
  expect(retryDelay(0, busy())).toBeLessThan(750);
});

test.each([
  [400, 1],
  [404, 1],
  [412, 1],
  [429, 4],
  [503, 4],
  [0, 4],
])("a read that fails with %i is sent %i times", async (status, times) => {
  vi.useFakeTimers();
  const read = vi.fn(() => Promise.reject(new Problem("x", status, undefined, 3600)));
  const outcome = newQueryClient()
    .fetchQuery({ queryKey: ["x"], queryFn: read, retry: newQueryClient().getDefaultOptions().queries?.retry })
    .catch((e: unknown) => e);
  await vi.advanceTimersByTimeAsync(3 * 60_000);
  expect(await outcome).toBeInstanceOf(Problem);
  expect(read).toHaveBeenCalledTimes(times);
});

test("a write is never repeated by itself", () => {
  expect(newQueryClient().getDefaultOptions().mutations?.retry).toBe(false);
});
