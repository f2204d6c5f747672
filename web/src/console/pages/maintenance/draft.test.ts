import { expect, test } from "vitest";
import { announced } from "../../../format/announced";
import { draftOf, newDraft, requestOf } from "./draft";

const filled = { ...newDraft(new Date("2026-11-21T10:20:00Z")), en: " Firmware ", places: " sw1 \n\nsw2/P4\n" };

test("a new draft lasts two hours from a full hour, and its request keeps the instants", () => {
  const r = requestOf(filled);
  expect(r?.starts_at).toMatch(/:00:00.000Z$/);
  expect(Date.parse(r?.ends_at ?? "") - Date.parse(r?.starts_at ?? "")).toBe(2 * 3_600_000);
  expect(r?.text).toEqual({ en: "Firmware" });
  expect(r?.scope).toEqual({ tenants: [], places: ["sw1", "sw2/P4"] });
});

test("an announcement makes a form that requests the same", () => {
  const m = {
    id: "m-0a1b2c3d4e5f",
    starts_at: "2026-12-01T20:00:00.000Z",
    ends_at: "2026-12-01T22:30:00.000Z",
    text: { zh: "维护" },
    scope: { tenants: ["red"] },
    state: "planned" as const,
    touches: ["red"],
    author: "ada",
    version: 1,
    created_at: "",
    updated_at: "",
  };
  expect(requestOf(draftOf(m))).toEqual({
    starts_at: m.starts_at,
    ends_at: m.ends_at,
    text: m.text,
    scope: { tenants: ["red"], places: [] },
  });
});

test("without a text or with a broken time there is no request", () => {
  expect(requestOf({ ...filled, en: "  " })).toBeUndefined();
  expect(requestOf({ ...filled, ends: "" })).toBeUndefined();
});

test("an announcement is read in one's language, or else in the other one", () => {
  expect(announced({ en: "a", zh: "b" }, "zh")).toBe("b");
  expect(announced({ en: "a" }, "zh")).toBe("a");
  expect(announced({ zh: "b" }, "en")).toBe("b");
});
