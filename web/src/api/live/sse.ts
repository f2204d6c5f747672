/** One server-sent event. */
type ServerSent = { id: string; event: string; data: string };

/** Largest line of a stream, in characters: a stream without line breaks is none of the service. */
export const longestLine = 1 << 20;

/** Splits a stream of server-sent events (HTML, 9.2.6) into events. Comments have none. */
export class ServerSentParser {
  private readonly decoder = new TextDecoder();
  private rest = "";
  private id = "";
  private event = "";
  private data: string[] = [];

  /** Takes the next bytes and returns the events that they complete. Throws RangeError when a line is longer than `longestLine`. */
  push(bytes: Uint8Array): ServerSent[] {
    const text = this.rest + this.decoder.decode(bytes, { stream: true });
    const held = text.endsWith("\r") ? 1 : 0; // may be the first half of CR LF
    const lines = text.slice(0, text.length - held).split(/\r\n|\n|\r/);
    this.rest = (lines.pop() ?? "") + text.slice(text.length - held);
    if (this.rest.length > longestLine) throw new RangeError("line of an event stream is too long");
    return lines.flatMap((line) => this.line(line) ?? []);
  }

  private line(line: string): ServerSent | undefined {
    if (line === "") return this.complete();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") this.id = value;
    if (field === "event") this.event = value;
    if (field === "data") this.data.push(value);
    return undefined;
  }

  private complete(): ServerSent | undefined {
    const { id, event, data } = this;
    this.event = "";
    this.data = [];
    return data.length > 0 ? { id, event, data: data.join("\n") } : undefined;
  }
}
