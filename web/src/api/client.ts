import createClient from "openapi-fetch";
import { Problem, problemOf } from "./problem";
import type { components, paths } from "./schema.gen";
import { csrfToken, signedOut } from "./session";

export type Schemas = components["schemas"];

/** Sends a request of the page's session. A refused session opens the sign-in over the page, so that no form is lost. */
async function send(request: Request): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD") request.headers.set("X-CSRF-Token", csrfToken() ?? "");
  let response: Response;
  try {
    response = await fetch(request);
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    throw new Problem("unreachable", 0);
  }
  if (response.status === 401 && !new URL(request.url).pathname.endsWith("/sign-in")) signedOut();
  return response;
}

/** The typed client of api/openapi.yaml. Use it through `data`, which turns failures into exceptions. */
export const client = createClient<paths>({ baseUrl: globalThis.location?.origin ?? "http://localhost", fetch: send });

type Outcome<T> = { data?: T; error?: unknown; response: Response };

/** Returns the body of a 2xx answer; throws a Problem otherwise. */
export async function data<T>(outcome: Promise<Outcome<T>>): Promise<T> {
  return (await answer(outcome)).body;
}

/** Like data, with the ETag that a later change sends as If-Match. */
export async function answer<T>(outcome: Promise<Outcome<T>>): Promise<{ body: T; etag: string }> {
  let got: Outcome<T>;
  try {
    got = await outcome;
  } catch (cause) {
    if (cause instanceof SyntaxError) throw new Problem("garbled", 200); // a body that is no JSON
    throw cause;
  }
  if (!got.response.ok) throw problemOf(got.response, got.error);
  return { body: got.data as T, etag: got.response.headers.get("ETag") ?? "" };
}

/** Reads every page of a list, at most `most` items. */
export async function all<T>(
  page: (cursor: string | undefined) => Promise<{ items: T[]; next_cursor?: string }>,
  most = 10_000,
): Promise<T[]> {
  const items: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const next = await page(cursor);
    items.push(...next.items);
    cursor = next.next_cursor;
    if (!cursor || items.length >= most) return items.slice(0, most);
  }
}

/** A key for Idempotency-Key: a retried write is executed once. */
export function idempotencyKey(): string {
  return crypto.randomUUID();
}
