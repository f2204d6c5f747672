import { act, renderHook } from "@testing-library/react";
import { expect, test } from "vitest";
import { useDraft } from "./useDraft";

test("a draft keeps what was typed until the value changes, also to an equal object", () => {
  const { result, rerender } = renderHook(({ value }) => useDraft(value), { initialProps: { value: { name: "a" } } });
  act(() => result.current[1]({ name: "typed" }));
  rerender({ value: { name: "a" } });
  expect(result.current[0]).toEqual({ name: "typed" });
  rerender({ value: { name: "b" } });
  expect(result.current[0]).toEqual({ name: "b" });
  act(() => result.current[1]({ name: "typed again" }));
  rerender({ value: { name: "a" } });
  expect(result.current[0]).toEqual({ name: "a" });
});
