import { expect, test } from "vitest";
import { bodyOf, type Declared } from "../tenants/changes";
import { changedFields, editsOf } from "./declared";
import { draftOf, parsed } from "./draft";

const original: Declared = {
  weight: 4,
  guarantee_bps: 0,
  cap_bps: 0,
  pkey: "0x8001",
  classes: [
    { name: "a", weight: 1 },
    { name: "b", weight: 2 },
  ],
  attachments: [{ port: "1:1", name: "h1/P1" }],
};

test("ignores the order of items and the names of ports", () => {
  const same = { ...original, classes: [...original.classes].reverse(), attachments: [{ port: "1:1" }] };
  expect(changedFields(original, same)).toEqual([]);
  expect(changedFields(original, { ...original, attachments: [{ port: "1:1", sl: 3 }] })).toEqual(["attachments"]);
});

test("leaves attachments of feeds to the feeds", () => {
  const fed: Declared = {
    ...original,
    attachments: [...original.attachments, { port: "2:1", name: "h2/P1", feed_only: true, feeds: ["kubernetes-lab1"] }],
  };
  expect(changedFields(original, fed)).toEqual([]);
  expect(bodyOf(fed).attachments).toEqual([{ port: "1:1" }]);
  const draft = draftOf(fed);
  expect(draft.ports).toEqual(["h1/P1"]);
  const claimed = parsed({ ...draft, ports: ["h1/P1", "h2/P1"] }, fed).declared;
  expect(claimed && bodyOf(claimed).attachments).toEqual([{ port: "1:1" }, { port: "2:1" }]);
});

test("words changes as edits of a what-if, and as the body of the change", () => {
  expect(editsOf("gold", original, { ...original, weight: 6, guarantee_bps: 1e9, pkey: "0x0001" })).toEqual([
    "weight:gold=6",
    "guarantee:gold=1000000000bit/s",
  ]);
  expect(bodyOf(original).attachments).toEqual([{ port: "1:1" }]);
});
