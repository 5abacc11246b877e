/** Leases the model of a request until its reply has ended. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Engine } from '../../engine/engine.js';
import { ChasquiError, invalidValue } from '../../errors.js';
import type { ErrorBody } from '../../http/error-body.js';
import { toChasquiError, toErrorBody } from '../../http/error-handler.js';
import { beginEvents, type Framing, type SseEvent, serverSentEvents } from '../../http/sse.js';
import { DEMO_MODEL } from '../../hub/data-folder.js';
import type { AppContext } from '../context.js';
import { MAX_KEEP_ALIVE_S, type ModelUse } from './model-use-schema.js';

export interface Leased {
  engine: Engine;
  /** Aborted when the client disconnects or the server stops. */
  signal: AbortSignal;
}

type ModelHandler<Body> = (
  request: FastifyRequest<{ Body: Body }>,
  reply: FastifyReply,
  leased: Leased,
) => Promise<unknown>;

export interface StreamSettings {
  /** Converts a failure before the completion to events. */
  fail(body: ErrorBody): readonly SseEvent[];
  /** Default: server-sent events. */
  framing?: Framing;
  /** Whether requests stream by default; default false. */
  unlessSaid?: boolean;
}

/** Returns the name of the requested model, if it is not in the body's `model`. */
export type ModelNaming<Body> = (body: Body) => string | undefined;

/** Interval of progress comments while the model is loaded. */
const LOADING_COMMENT_MS = 1000;

/**
 * Creates the handler of a route that needs a model. All such handlers come from this function, so every lease is
 * released. With `streaming`, a request with `stream: true` receives comments while its model is loaded. `nameOf`
 * returns the name of the requested model.
 */
export function withModel<Body extends ModelUse & { model?: string; stream?: boolean }>(
  { pool, running, options }: Pick<AppContext, 'pool' | 'running' | 'options'>,
  handle: ModelHandler<Body>,
  streaming: StreamSettings | null = null,
  nameOf?: ModelNaming<Body>,
) {
  const { framing = serverSentEvents, unlessSaid = false } = streaming ?? {};
  return async (request: FastifyRequest<{ Body: Body }>, reply: FastifyReply): Promise<unknown> => {
    const { raw } = reply;
    const body = request.body as Body;
    const { stream = unlessSaid } = body;
    const keepMs = keepMsOf(body);
    const signal = running.signalFor(raw);
    let progress = 0;
    const comment = () => sendLoadingComment(reply, framing, progress);
    const everyMs = Math.min(LOADING_COMMENT_MS, options.keepAliveMs);
    const comments = stream && streaming !== null ? setInterval(comment, everyMs) : undefined;
    try {
      const lease = pool.acquire(nameOf === undefined ? body.model : nameOf(body), {
        signal,
        keepMs,
        onProgress: (fraction) => {
          progress = fraction;
        },
      });
      const { engine, release } = await lease.finally(() => clearInterval(comments));
      raw.once('close', release);
      // The connection was closed while the request waited for the lease, so the listener would not be called.
      if (raw.destroyed) release();
      return await handle(request, reply, { engine, signal }).catch((thrown) => {
        throw engine.model.path === DEMO_MODEL ? withAdvice(thrown) : thrown;
      });
    } catch (thrown) {
      // After the first comment, a failure can only be an event of the stream.
      if (streaming === null || !raw.headersSent) throw thrown;
      const failure = framing.frame(streaming.fail(toErrorBody(toChasquiError(thrown, request, options))));
      raw.end(failure + (framing.end ?? ''));
      return undefined;
    }
  };
}

/** Clients such as Open WebUI add dozens of tools to each request. */
function withAdvice(thrown: unknown): unknown {
  if (!(thrown instanceof ChasquiError) || thrown.code !== 'context_length_exceeded') return thrown;
  const advice =
    'The built-in demo model is too small for tools and long prompts. Serve another one: chasqui serve -hf qwen3:4b.';
  return thrown.withMessage(`${thrown.message} ${advice}`, thrown.param);
}

/** Milliseconds. Infinity: never unload. `undefined`: not set in the request. `keep_alive` precedes `ttl`. */
export function keepMsOf({ keep_alive: keepAlive, ttl }: ModelUse): number | undefined {
  const seconds = keepAlive === undefined ? ttl : toSeconds(keepAlive);
  if (seconds === undefined) return undefined;
  return seconds < 0 ? Infinity : seconds * 1000;
}

const SECONDS: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };
const DURATION = /^([+-]?)((?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+)$/;
const PART = /(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g;

/** Durations of Go, as in Ollama, and plain numbers of seconds. */
function toSeconds(duration: string | number): number {
  const [, sign, parts] = DURATION.exec(String(duration)) ?? [];
  let seconds = Number.NaN;
  if (typeof duration === 'number' || /^-?\d+$/.test(duration)) {
    seconds = Number(duration);
  } else if (parts !== undefined) {
    const sum = [...parts.matchAll(PART)].reduce((all, part) => all + toPartSeconds(part), 0);
    seconds = sign === '-' ? -sum : sum;
  }
  if (seconds <= MAX_KEEP_ALIVE_S) return seconds;
  throw invalidValue(
    `\`keep_alive\` must be at most ${MAX_KEEP_ALIVE_S} seconds, as a number or as a duration such as \`5m\` or \`1h30m\`. To keep the model loaded forever, send -1.`,
    'keep_alive',
  );
}

function toPartSeconds([, count, unit = '']: RegExpExecArray): number {
  return Number(count) * (SECONDS[unit] ?? Number.NaN);
}

/** The first comment begins the reply. */
function sendLoadingComment(reply: FastifyReply, framing: Framing, progress: number): void {
  const { raw } = reply;
  if (!raw.headersSent) beginEvents(reply, framing);
  if (!raw.writableNeedDrain) raw.write(framing.loading(Math.floor(progress * 100)));
}
