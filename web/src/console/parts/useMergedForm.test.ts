import { act, renderHook } from "@testing-library/react";
import { expect, test } from "vitest";
import { Problem } from "../../api/problem";
import { useMergedForm } from "./useMergedForm";

type Form = { name: string; disabled: boolean };
const first = { value: { name: "Ada", disabled: false } as Form, etag: "1" };
const newer = { value: { name: "Ada L.", disabled: true } as Form, etag: "2" };

function opened() {
  return renderHook(({ version }) => useMergedForm<Form>(version, () => Promise.resolve(newer)), {
    initialProps: { version: first },
  });
}

test("a form without changes takes a newer version, and one with changes keeps them", () => {
  const { result, rerender } = opened();
  rerender({ version: newer });
  expect(result.current).toMatchObject({ form: newer.value, base: newer.value, changed: false });
  act(() => result.current.setForm({ name: "Ada B.", disabled: true }));
  rerender({ version: { ...first, etag: "3" } });
  expect(result.current).toMatchObject({ form: { name: "Ada B.", disabled: true }, base: newer.value, changed: true });
});

test("a save that is refused for a newer version merges it, and the next save is for that version", async () => {
  const { result } = opened();
  act(() => result.current.setForm({ name: "Ada B.", disabled: false }));
  const etags: string[] = [];
  const send = async (etag: string) => {
    etags.push(etag);
    if (etag === "1") throw new Problem("precondition-failed", 412);
    return "saved";
  };
  await act(async () => expect(await result.current.save(send)).toBeUndefined());
  expect(result.current.form).toEqual({ name: "Ada B.", disabled: true });
  expect(result.current.met).toMatchObject({ conflicts: ["name"], taken: ["disabled"] });
  act(() => result.current.met?.choose("name", "theirs"));
  expect(result.current.form.name).toBe("Ada L.");
  await act(async () => expect(await result.current.save(send)).toBe("saved"));
  expect(etags).toEqual(["1", "2"]);
});

test("any other failure of a save is thrown, and the form stays", async () => {
  const { result } = opened();
  act(() => result.current.setForm({ name: "", disabled: false }));
  const refused = new Problem("invalid", 422);
  await expect(result.current.save(() => Promise.reject(refused))).rejects.toBe(refused);
  expect(result.current).toMatchObject({ form: { name: "", disabled: false }, met: undefined });
});
