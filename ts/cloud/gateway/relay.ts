/** Gives a request to one runner, and passes the runner's reply on to the client. */
import { ChasquiError, ERRORS, type ErrorCode } from '../../errors.js';
import { outOfFiles } from '../../process/open-files.js';
import { unframed } from './chunks.js';
import type { ClientReply } from './client-reply.js';
import type { RunnerAddress } from './directory.js';
import { toClientHead } from './headers.js';
import { headerOf, type ReplyHead } from './reply-reader.js';
import { RunnerConnection, type RunnerRequest } from './runner-connection.js';
import { readReport, type TokenCounts } from './usage-report.js';

export interface RelayOptions {
  reply: ClientReply;
  /** Aborted when the client is gone, or for what ends the request besides. */
  signal: AbortSignal;
  /** Whether this is the first runner that has the request, so that another may get it. */
  isFirst: boolean;
  /** Called for every part of the body, which may have lengths of chunks in it. */
  onPart(part: string): void;
}

/** How it went, where nothing is left to be said to the client or all may be asked of another runner. */
export type Relayed =
  | { kind: 'over'; report: TokenCounts | null }
  /** The connection failed before the reply began. The error is for the case that no other runner is asked. */
  | { kind: 'failed'; error: ChasquiError; isConnection: boolean }
  /** The runner takes no requests just now. `pass` sends its reply after all. */
  | { kind: 'not now'; pass(): void };

/** A reply of this kind, or of a runner that refuses, is held until it is complete, if it is not larger. */
const MAX_HELD = 64 * 1024;

/** What a runner says that has done nothing for the request. */
const NOT_NOW: readonly string[] = ['engine_restarting', 'engine_closed', 'model_loading'] satisfies ErrorCode[];

/** Rejects with what is to be told to the client, or with the signal's reason. */
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
    const goOn = (goesOn: boolean): boolean => {
      if (!goesOn) reply.whenDrained(() => connection.resume());
      return goesOn;
    };
    const connection = new RunnerConnection(runner, request, {
      onHead: (head) => incoming.begin(head),
      onBody: (bytes) => goOn(incoming.add(bytes)),
      onChunks: (framed) => goOn(incoming.addChunks(framed)),
      onEnd: (trailers) => {
        if (incoming.isCutShort) onFailure('it ended the stream before the last event', false);
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
  readonly #options: RelayOptions;
  readonly #resolve: (relayed: Relayed) => void;
  readonly #reject: (error: ChasquiError) => void;
  #head: ReplyHead | null = null;
  /** The body of a reply that is not passed on as it comes; null for the others. */
  #held: string | null = null;

  constructor(options: RelayOptions, resolve: (relayed: Relayed) => void, reject: (error: ChasquiError) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(head: ReplyHead): void {
    const { reply, isFirst } = this.#options;
    this.#head = head;
    if (reply.begun ? !isEvents(head) : isFirst && head.status === ERRORS.engine_restarting.status) {
      this.#held = '';
    } else if (!reply.begun) {
      reply.begin(toClientHead(head));
    }
  }

  add(bytes: string): boolean {
    if (this.#held === null) {
      this.#options.onPart(bytes);
      return this.#options.reply.pass(bytes);
    }
    if (this.#held.length + bytes.length <= MAX_HELD) this.#held += bytes;
    return true;
  }

  addChunks(framed: string): boolean {
    if (this.#held !== null) return this.add(unframed(framed));
    this.#options.onPart(framed);
    return this.#options.reply.passChunks(framed);
  }

  /** By HTTP the reply is complete, and by the protocol of its events it is not. */
  get isCutShort(): boolean {
    return this.#held === null && !this.#options.reply.mayEnd;
  }

  end(trailers: ReplyHead['headers']): void {
    const head = this.#head as ReplyHead;
    const { reply } = this.#options;
    if (this.#held === null) {
      reply.end();
      this.#resolve({ kind: 'over', report: readReport(head) ?? readReport({ headers: trailers }) });
      return;
    }
    const held = Buffer.from(this.#held, 'latin1');
    if (reply.begun) this.#reject(toError(held));
    else if (NOT_NOW.includes(codeOf(held))) this.#resolve({ kind: 'not now', pass: () => this.#passHeld() });
    else this.#resolve({ kind: 'over', report: this.#passHeld() });
  }

  fail(reason: string, isConnection: boolean): void {
    const error = new ChasquiError('runner_failed', `The runner that had the request failed: ${reason}.`);
    const isUntold = this.#head === null || this.#held !== null;
    if (isUntold) this.#resolve({ kind: 'failed', error, isConnection });
    else this.#reject(error);
  }

  #passHeld(): TokenCounts | null {
    const head = this.#head as ReplyHead;
    const { reply } = this.#options;
    // What was held may be shorter than the reply was.
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

/** A runner's error as one of ours, for a stream that has begun with comments. */
function toError(body: Buffer): ChasquiError {
  const { code, message, param } = errorIn(body) ?? {};
  if (typeof code !== 'string' || !Object.hasOwn(ERRORS, code) || typeof message !== 'string') {
    return new ChasquiError('runner_failed', 'The runner that had the request replied with something unexpected.');
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
