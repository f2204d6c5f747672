import type { components } from "./schema.gen";

export type ProblemDocument = components["schemas"]["Problem"];

/** Why something failed: a problem document of the service, or a code of the page. */
export class Problem extends Error {
  /** Stable code of the service (docs/problems.md), or `unreachable` (no answer), `garbled` (an answer without a problem document), `page-fault` (a fault of the page). */
  readonly code: string;
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  /** The document; undefined without one. */
  readonly document: ProblemDocument | undefined;
  /** Seconds after which to try again, by Retry-After; undefined when the service named none. */
  readonly retryAfter: number | undefined;
  /** Milliseconds since 1970 at which the page sends the request again by itself; undefined when it does not. */
  nextAttempt: number | undefined;

  constructor(code: string, status: number, document?: ProblemDocument, retryAfter?: number) {
    super(document?.detail ?? document?.title ?? code);
    this.code = code;
    this.status = status;
    this.document = document;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may succeed later without a change. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The seconds of Retry-After; undefined when the answer names none. */
export function retryAfterOf(response: Response): number | undefined {
  const after = Number(response.headers.get("Retry-After") ?? Number.NaN);
  return Number.isFinite(after) && after >= 0 ? after : undefined;
}

/** Reads the failure of an answer that is not 2xx. */
export function problemOf(response: Response, body: unknown): Problem {
  const retryAfter = retryAfterOf(response);
  if (isDocument(body)) return new Problem(body.code, response.status, body, retryAfter);
  return new Problem("garbled", response.status, undefined, retryAfter);
}

function isDocument(body: unknown): body is ProblemDocument {
  return (
    typeof body === "object" && body !== null && "code" in body && typeof body.code === "string" && "title" in body
  );
}
