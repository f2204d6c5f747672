import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { ownOrigins } from "./service";

/** What the proxy does with a request instead of passing it on. */
export type Fault =
  /** Passes it on after some milliseconds. */
  | { delay: number }
  /** Closes the connection without an answer. */
  | { drop: true }
  /** Passes the head of the answer on and holds its body back, as a buffering proxy does with a stream. */
  | { stall: true }
  /** Answers by itself: a problem document, unless a body is given. */
  | { status: number; retryAfter?: number; body?: string; type?: string }
  /** Answers 200 with what is neither JSON nor a stream. */
  | { garbage: true }
  /** Answers by a function: the soak test plays events. */
  | { answer: (request: IncomingMessage, response: ServerResponse) => void };

/** One answer that passed through. The body of a stream grows until it ends. */
export type Recorded = { method: string; path: string; status: number; type: string; body: string };

type Rule = { path: RegExp; fault: Fault; left: number };

const codes: Record<number, string> = {
  401: "unauthorized",
  403: "forbidden",
  429: "locked",
  503: "not-ready",
};

/** A reverse proxy on 127.0.0.1 before a service: it causes faults for chosen paths and records every answer. */
export class FaultProxy {
  readonly recorded: Recorded[] = [];
  /** Off in long tests, whose answers would fill the memory. */
  record = true;
  private rules: Rule[] = [];
  private server: Server | undefined;
  private port = 0;
  private readonly sockets = new Set<Socket>();
  private readonly streams = new Set<ServerResponse>();

  constructor(private readonly target: string) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Begins to listen; again on the same port after `down`. */
  async up() {
    const server = createServer((from, to) => this.serve(from, to));
    server.keepAliveTimeout = 0; // otherwise it ends idle connections at the moment when the browser uses them again
    server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.on("error", reject);
      server.listen(this.port, "127.0.0.1", resolve);
    });
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
    ownOrigins.add(this.url);
  }

  /** Closes all connections and refuses new ones, as a machine without the service does. */
  async down() {
    const { server } = this;
    this.server = undefined;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Causes a fault for requests whose path (with query) matches: all, or the next `times`. The latest rule goes first. */
  on(path: RegExp, fault: Fault, times = Number.POSITIVE_INFINITY) {
    this.rules.unshift({ path, fault, left: times });
  }

  /** Passes everything on again. */
  heal() {
    this.rules = [];
  }

  /** Cuts the event streams that are open, and returns how many. */
  cutStreams(): number {
    const { size } = this.streams;
    for (const stream of this.streams) stream.destroy();
    return size;
  }

  /** Answers whose body or path contains a text. */
  search(text: string): Recorded[] {
    return this.recorded.filter((r) => r.body.includes(text) || r.path.includes(text));
  }

  private serve(from: IncomingMessage, to: ServerResponse) {
    const path = from.url ?? "/";
    const rule = this.rules.find((r) => r.left > 0 && r.path.test(path));
    if (!rule) return this.pass(from, to);
    rule.left--;
    const { fault } = rule;
    if ("delay" in fault) setTimeout(() => this.pass(from, to), fault.delay);
    else if ("drop" in fault) from.socket.destroy();
    else if ("stall" in fault) this.pass(from, to, true);
    else if ("answer" in fault) fault.answer(from, to);
    else if ("garbage" in fault) to.writeHead(200, { "Content-Type": "application/json" }).end("<html>\u0000{");
    else {
      const { status, retryAfter, body, type = "application/problem+json" } = fault;
      const problem = { type: "about:blank", title: `status ${status}`, status, code: codes[status] ?? "internal" };
      const headers = {
        "Content-Type": type,
        "Cache-Control": "no-store",
        ...(retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) }),
      };
      to.writeHead(status, headers).end(body ?? JSON.stringify(problem));
    }
  }

  /** Passes a request on, under the name that the browser used: the service compares it with the origin of writes. */
  private pass(from: IncomingMessage, to: ServerResponse, stall = false) {
    const { "accept-encoding": _, ...headers } = from.headers; // bodies are recorded as text
    const onward = request(
      new URL(from.url ?? "/", this.target),
      { method: from.method, headers, agent: false },
      (answer) => {
        const type = answer.headers["content-type"] ?? "";
        const record: Recorded = {
          method: from.method ?? "",
          path: from.url ?? "",
          status: answer.statusCode ?? 0,
          type,
          body: "",
        };
        if (this.record) this.recorded.push(record);
        if (type.startsWith("text/event-stream")) this.streams.add(to);
        to.writeHead(record.status, answer.headers).flushHeaders();
        answer.setEncoding("utf8");
        answer.on("data", (text: string) => {
          if (this.record) record.body += text;
          if (!stall) to.write(text);
        });
        answer.on("end", () => to.end());
        answer.on("error", () => to.destroy());
      },
    );
    to.on("close", () => {
      this.streams.delete(to);
      onward.destroy();
    });
    onward.on("error", () => to.destroy());
    from.pipe(onward);
  }
}
