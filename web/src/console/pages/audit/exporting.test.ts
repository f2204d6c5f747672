import { expect, test } from "vitest";
import { csvOf, linesOf } from "./exporting";
import type { Entry } from "./queries";

const entry: Entry = {
  seq: 7,
  at: "2026-11-21T10:00:00Z",
  actor: "=cmd()",
  actor_kind: "user",
  action: "user.updated",
  object: "ada",
  outcome: "done",
  after: { display_name: '<img src=x onerror=alert(1)>,"' },
  prev: "0".repeat(64),
  hash: "1".repeat(64),
};

test("a cell of the export is never a formula, and objects stay whole", () => {
  const [head, row] = csvOf([entry]).split("\r\n");
  expect(head).toMatch(/^seq,at,actor,/);
  expect(row).toContain("'=cmd()");
  expect(row).toContain('"{""display_name"":""<img src=x onerror=alert(1)>,\\""""}"');
});

test("a line of the export is the entry", () => {
  expect(JSON.parse(linesOf([entry]))).toEqual(entry);
});
