/** Requests as spans of OpenTelemetry, if the user has loaded an SDK. */
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import { VERSION } from '../version.js';
import type { RequestRecord } from './request-record.js';

type Api = typeof import('@opentelemetry/api');

/** The global property that holds what an SDK has registered with any 1.x version of the API. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

/** Resolves with `null` if no SDK is loaded, or the API is not installed. The import takes 25 ms of CPU time. */
export async function openSpans(): Promise<Spans | null> {
  if (!(REGISTERED in globalThis)) return null;
  try {
    return new Spans(await import('@opentelemetry/api'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return null;
    throw error;
  }
}

/** The endpoints' operations, as the semantic conventions for generative AI name them. */
const OPERATIONS: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'chat',
  '/v1/messages': 'chat',
  '/v1/completions': 'text_completion',
  '/v1/embeddings': 'embeddings',
};

export class Spans {
  readonly #tracer: Tracer;

  constructor(private readonly api: Api) {
    this.#tracer = api.trace.getTracer('chasqui', VERSION);
  }

  /**
   * Adds the span of a request that is over, with children for its phases. They cannot be added earlier, because the
   * engine reports the times of the phases when a completion ends.
   */
  add(record: RequestRecord): void {
    const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = this.api;
    const { arrival, arrivedAt, durationMs, status, errorCode } = record;
    const name = arrival.endpoint === null ? arrival.method : `${arrival.method} ${arrival.endpoint}`;
    const { traceParent: of } = arrival;
    const parent = of
      ? trace.setSpanContext(ROOT_CONTEXT, { ...of, traceFlags: of.flags, isRemote: true })
      : ROOT_CONTEXT;
    const options = { kind: SpanKind.SERVER, startTime: arrivedAt, attributes: attributesOf(record) };
    const span = this.#tracer.startSpan(name, options, parent);
    if (span.isRecording()) {
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR, ...(errorCode && { message: errorCode }) });
      this.#addPhases(record, trace.setSpan(parent, span));
    }
    span.end(arrivedAt + (durationMs ?? 0));
  }

  /** The phases follow each other without a gap, and the last one ended when the last token came. */
  #addPhases({ arrivedAt, timings, timingsEndMs }: RequestRecord, parent: Context): void {
    if (timings === null) return;
    const { queuedMs, promptMs, predictedMs } = timings;
    let at = arrivedAt + timingsEndMs - queuedMs - promptMs - predictedMs;
    for (const [name, ms] of [
      ['queue', queuedMs],
      ['prefill', promptMs],
      ['decode', predictedMs],
    ] as const) {
      const span: Span = this.#tracer.startSpan(name, { startTime: at }, parent);
      at += ms;
      span.end(at);
    }
  }
}

function attributesOf(record: RequestRecord): Attributes {
  const { arrival, model, status, errorCode, finishReasons } = record;
  const operation = OPERATIONS[arrival.endpoint ?? ''];
  return {
    'http.request.method': arrival.method,
    'url.path': arrival.path,
    ...(arrival.endpoint !== null && { 'http.route': arrival.endpoint }),
    'http.response.status_code': status,
    ...(errorCode !== null && { 'error.type': errorCode }),
    ...(operation !== undefined &&
      model !== null && {
        'gen_ai.operation.name': operation,
        'gen_ai.provider.name': 'chasqui',
        'gen_ai.request.model': model,
        'gen_ai.response.model': model,
        'gen_ai.usage.input_tokens': record.promptTokens,
        'gen_ai.usage.cache_read.input_tokens': record.cachedTokens,
        'gen_ai.usage.output_tokens': record.generatedTokens,
        ...(finishReasons.length > 0 && { 'gen_ai.response.finish_reasons': finishReasons }),
      }),
  };
}
