import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { Announce } from "./Announce";

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

test("of many steps at most one is announced in five seconds, the last one, and politely", () => {
  vi.useFakeTimers({ now: 1_000_000 });
  const { rerender } = render(<Announce text="step 0" />);
  const heard: string[] = [];
  for (let tenths = 1; tenths <= 120; tenths++) {
    act(() => void vi.advanceTimersByTime(100));
    const said = screen.getByRole("status").textContent ?? "";
    if (said && heard.at(-1) !== said) heard.push(said);
    if (tenths % 10 === 0) rerender(<Announce text={`step ${tenths / 10}`} />);
  }
  expect(heard).toEqual(["step 0", "step 4", "step 9"]); // at 0, 5 and 10 s
});

test("a failure interrupts", () => {
  vi.useFakeTimers();
  render(<Announce urgent text="gate failed" />);
  act(() => void vi.advanceTimersByTime(0));
  expect(screen.getByRole("alert").textContent).toBe("gate failed");
});
