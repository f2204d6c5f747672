import { expect, test } from "vitest";
import { longestLine, ServerSentParser } from "./sse";

const bytes = (s: string) => new TextEncoder().encode(s);
const stream =
  ': events follow\n\nid: 7\nevent: tenant.updated\ndata: {"a":"路径"}\n\n: still here\n\nid: 8\r\ndata: x\r\ndata:y\r\n\r\n';
const events = [
  { id: "7", event: "tenant.updated", data: '{"a":"路径"}' },
  { id: "8", event: "", data: "x\ny" },
];

test("reads a stream wherever its bytes are cut", () => {
  const all = bytes(stream);
  expect(new ServerSentParser().push(all)).toEqual(events);
  for (const size of [1, 2, 3, 5, 7]) {
    const parser = new ServerSentParser();
    const got = [];
    for (let i = 0; i < all.length; i += size) got.push(...parser.push(all.slice(i, i + size)));
    expect(got).toEqual(events);
  }
});

test("an event without its end is none, and a line has a limit", () => {
  const parser = new ServerSentParser();
  expect(parser.push(bytes("id: 9\ndata: x\n"))).toEqual([]);
  expect(() => parser.push(bytes("x".repeat(longestLine + 1)))).toThrow(RangeError);
});
