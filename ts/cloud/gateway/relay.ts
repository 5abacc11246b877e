/** Sends a request to one runner and relays the reply to the client. */
import { ChasquiError, ERRORS, type ErrorCode } from '../../errors.js';
import { outOfFiles } from '../../process/open-files.js';
import { unframed } from './chunks.js';
import type { ClientReply } from './client-reply.js';
import type { RunnerAddress } from './directory.js';
import { toClientHead } from './headers.js';
import { headerOf, type ReplyHead } from './reply-reader.js';
import { RunnerConnection, type RunnerRequest } from './runner-connection.js';
import { readReport, type TokenCounts } from './usage.js';

export interface RelayOptions {
  reply: ClientReply;
  signal: AbortSignal;
  /** Whether another runner may still get the request. */
  isFirst: boolean;
  /** Called for each part of the body, which may include chunk framing. */
  onPart(part: string): void;
  /** Called with the usage so far, before the reply begins. */
  onProgress(counts: TokenCounts): void;
}

export type Relayed =
  | { kind: 'done'; report: TokenCounts | null }
  /** The connection failed before the reply began. `error` is for the client if no other runner is tried. */
  | { kind: 'failed'; error: ChasquiError; isConnection: boolean }
  /** The runner does not accept requests now. `pass` relays its reply anyway. */
  | { kind: 'unavailable'; pass(): void };

/** Maximum bytes kept of a reply that is buffered before it is relayed. */
const MAX_HELD = 64 * 1024;

/** Errors of a runner that has not started the request. */
const UNAVAILABLE: readonly string[] = ['engine_restarting', 'engine_closed', 'model_loading'] satisfies ErrorCode[];

/** Rejects with an error for the client or the signal's reason. */
export function relay(runner: RunnerAddress, request: RunnerRequest, options: RelayOptions): Promise<Relayed> {
  const { reply, signal } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const settled = <T>(settle: (outcome: T) => void) => {
      return (outcome: T): void => {
        signal.removeEventListener('abort', onAbort);
        settle(outcome);
      };
    };
    const incoming = new IncomingReply(options, settled(resolve), settled(reject));
    const onFailure = (reason: string, isConnection: boolean): void => {
      runner.reportFailure(reason);
      incoming.fail(reason, isConnection);
    };
    const pauseUnless = (hasRoom: boolean): boolean => {
      if (!hasRoom) reply.whenDrained(() => connection.resume());
      return hasRoom;
    };
    const connection = new RunnerConnection(runner, request, {
      onInterim: (head) => {
        const counts = readReport(head);
        if (counts !== null) options.onProgress(counts);
      },
      onHead: (head) => incoming.begin(head),
      onBody: (bytes) => pauseUnless(incoming.add(bytes)),
      onChunks: (framed) => pauseUnless(incoming.addChunks(framed)),
      onEnd: (trailers) => {
        if (incoming.isCutShort) onFailure('it ended the stream before the final event', false);
        else incoming.end(trailers);
      },
      onFailure,
      onNoFiles: (error) => settled(reject)(outOfFiles('No connection to a runner could be opened', error)),
    });
    const onAbort = (): void => {
      connection.abort();
      settled(reject)(signal.reason);
    };
    signal.addEventListener('abort', onAbort);
  });
}

class IncomingReply {
  #head: ReplyHead | null = null;
  /** The buffered body; null for replies that are relayed as they arrive. */
  #held: string | null = null;

  constructor(
    private readonly options: RelayOptions,
    private readonly resolve: (relayed: Relayed) => void,
    private readonly reject: (error: ChasquiError) => void,
  ) {}

  begin(head: ReplyHead): void {
    const { reply, isFirst } = this.options;
    this.#head = head;
    if (reply.begun ? !isEvents(head) : isFirst && head.status === ERRORS.engine_restarting.status) {
      this.#held = '';
    } else if (!reply.begun) {
      reply.begin(toClientHead(head));
    }
  }

  add(bytes: string): boolean {
    if (this.#held === null) {
      this.options.onPart(bytes);
      return this.options.reply.pass(bytes);
    }
    if (this.#held.length + bytes.length <= MAX_HELD) this.#held += bytes;
    return true;
  }

  addChunks(framed: string): boolean {
    if (this.#held !== null) return this.add(unframed(framed));
    this.options.onPart(framed);
    return this.options.reply.passChunks(framed);
  }

  /** Complete by HTTP, but not by the protocol of its events. */
  get isCutShort(): boolean {
    return this.#held === null && !this.options.reply.mayEnd;
  }

  end(trailers: ReplyHead['headers']): void {
    const head = this.#head as ReplyHead;
    const { reply } = this.options;
    if (this.#held === null) {
      reply.end();
      this.resolve({ kind: 'done', report: readReport(head) ?? readReport({ headers: trailers }) });
      return;
    }
    const held = Buffer.from(this.#held, 'latin1');
    if (reply.begun) this.reject(toError(held));
    else if (UNAVAILABLE.includes(codeOf(held))) this.resolve({ kind: 'unavailable', pass: () => this.#passHeld() });
    else this.resolve({ kind: 'done', report: this.#passHeld() });
  }

  fail(reason: string, isConnection: boolean): void {
    const error = new ChasquiError('runner_failed', `The runner of the request failed: ${reason}.`);
    const canRetry = this.#head === null || this.#held !== null;
    if (canRetry) this.resolve({ kind: 'failed', error, isConnection });
    else this.reject(error);
  }

  #passHeld(): TokenCounts | null {
    const head = this.#head as ReplyHead;
    const { reply } = this.options;
    // The buffer may be shorter than the reply.
    const headers = head.headers.filter(([name]) => name !== 'content-length');
    reply.begin(toClientHead({ ...head, headers }));
    if (this.#held) reply.pass(this.#held);
    reply.end();
    return readReport(head);
  }
}

function isEvents(head: ReplyHead): boolean {
  return head.status === 200 && /^text\/event-stream\b/i.test(headerOf(head, 'content-type') ?? '');
}

function codeOf(body: Buffer): string {
  return String(errorIn(body)?.code ?? '');
}

/** Parses the error of a runner, for a stream that has begun with comments. */
function toError(body: Buffer): ChasquiError {
  const { code, message, param } = errorIn(body) ?? {};
  if (typeof code !== 'string' || !Object.hasOwn(ERRORS, code) || typeof message !== 'string') {
    return new ChasquiError('runner_failed', 'The runner of the request sent an invalid reply.');
  }
  return new ChasquiError(code as ErrorCode, message, typeof param === 'string' ? param : null);
}

function errorIn(body: Buffer): Record<string, unknown> | null {
  try {
    const { error } = JSON.parse(body.toString('utf8'));
    return typeof error === 'object' ? error : null;
  } catch {
    return null;
  }
}
