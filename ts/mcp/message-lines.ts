/** Splits the output of a stdio server into messages, one per line. */

/** Limit of one message in bytes, for both transports. */
export const MAX_MESSAGE_BYTES = 4 * 2 ** 20;

/** Enough for the id of a message, which comes before or after its result. */
const EDGE_BYTES = 256;

export interface MessageSink {
  line(text: string): void;
  /** Called instead of `line` for a message beyond the limit; `id` is null if it was not found. */
  tooLong(id: number | null): void;
}

export class MessageLines {
  #pieces: Buffer[] = [];
  #length = 0;
  /** Beginning and end of a line beyond the limit. The rest is dropped. */
  #edges: { head: Buffer; tail: Buffer } | null = null;

  constructor(private readonly sink: MessageSink) {}

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#add(chunk.subarray(start, end));
      this.#end();
      start = end + 1;
    }
    this.#add(chunk.subarray(start));
  }

  #add(piece: Buffer): void {
    if (piece.length === 0) return;
    if (this.#edges !== null) {
      this.#edges.tail = lastOf(Buffer.concat([this.#edges.tail, lastOf(piece)]));
      return;
    }
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length <= MAX_MESSAGE_BYTES) return;
    const all = Buffer.concat(this.#pieces);
    this.#edges = { head: Buffer.from(all.subarray(0, EDGE_BYTES)), tail: Buffer.from(lastOf(all)) };
    this.#pieces = [];
  }

  #end(): void {
    const edges = this.#edges;
    const line = edges === null ? Buffer.concat(this.#pieces).toString('utf8').trim() : '';
    this.#pieces = [];
    this.#length = 0;
    this.#edges = null;
    if (edges !== null) this.sink.tooLong(idIn(edges.head.toString('latin1'), edges.tail.toString('latin1')));
    else if (line !== '') this.sink.line(line);
  }
}

function lastOf(bytes: Buffer): Buffer {
  return bytes.subarray(Math.max(0, bytes.length - EDGE_BYTES));
}

/** Neither pattern can match within a result: that is followed by another brace. */
function idIn(head: string, tail: string): number | null {
  const before = /^\s*\{(?:"jsonrpc":\s*"2\.0",\s*)?"id":\s*(\d+)\s*,/.exec(head);
  const after = /,\s*"id":\s*(\d+)\s*(?:,\s*"jsonrpc":\s*"2\.0"\s*)?\}\s*$/.exec(tail);
  const id = (before ?? after)?.[1];
  return id === undefined ? null : Number(id);
}
