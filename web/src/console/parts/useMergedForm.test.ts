import { act, renderHook } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { Problem } from "../../api/problem";
import { useMergedForm } from "./useMergedForm";

type Body = { weight: number; cap: number; pkey: string };
const formOf = ({ weight, cap, pkey }: Body) => ({ weight: String(weight), cap: String(cap), pkey });
const first = { body: { weight: 4, cap: 0, pkey: "0x8001" }, etag: '"1"' };
const latest = { body: { weight: 8, cap: 5, pkey: "0x8001" }, etag: '"2"' };

const refused = () => Promise.reject(new Problem("precondition-failed", 412));
const start = () => renderHook(() => useMergedForm(first, formOf)).result;

test("a newer version is merged into the form, and a field that both changed needs a choice", async () => {
  const result = start();
  act(() => result.current.setForm({ weight: "6", cap: "0", pkey: "0x8009" }));
  await act(async () => {
    expect(await result.current.send(refused, async () => latest)).toBeUndefined();
  });
  expect(result.current.newer).toMatchObject({ conflicts: ["weight"], taken: ["cap"], chosen: {} });
  expect(result.current.form).toEqual({ weight: "6", cap: "5", pkey: "0x8009" });
  expect(result.current.open).toBe(1);
  act(() => result.current.choose("weight", "theirs"));
  expect(result.current.form).toEqual({ weight: "8", cap: "5", pkey: "0x8009" });
  expect(result.current.open).toBe(0);
  const write = vi.fn(async (etag: string) => etag);
  await act(async () => {
    expect(await result.current.send(write, async () => latest)).toBe('"2"');
  });
});

test("what is typed while a refused write is under way is kept", async () => {
  const result = start();
  await act(async () => {
    const sent = result.current.send(refused, async () => {
      result.current.setForm({ ...result.current.form, pkey: "0x8002" });
      return latest;
    });
    await sent;
  });
  expect(result.current.form).toEqual({ weight: "8", cap: "5", pkey: "0x8002" });
});

test("any other refusal is an error of the caller, and leaves the form", async () => {
  const result = start();
  const other = () => Promise.reject(new Problem("invalid", 422));
  await expect(result.current.send(other, async () => latest)).rejects.toMatchObject({ status: 422 });
  expect(result.current.newer).toBeUndefined();
});

test("a newer version that is read replaces a form without changes, and one with changes keeps them", () => {
  const { result, rerender } = renderHook(({ read }) => useMergedForm(read, formOf), { initialProps: { read: first } });
  rerender({ read: latest });
  expect(result.current).toMatchObject({ form: formOf(latest.body), base: latest, changed: false });
  const mine = { ...formOf(latest.body), pkey: "0x8007" };
  act(() => result.current.setForm(mine));
  rerender({ read: { ...first, etag: '"3"' } });
  expect(result.current).toMatchObject({ form: mine, base: latest, changed: true });
  act(() => result.current.restart({ ...latest, etag: '"4"' }));
  expect(result.current).toMatchObject({ form: formOf(latest.body), base: { etag: '"4"' }, changed: false });
});
