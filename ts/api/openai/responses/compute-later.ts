/** Computes a response in the background. */
import { type ChasquiError, unsupportedParameter } from '../../../errors.js';
import { toChasquiError, toErrorBody } from '../../../http/error-handler.js';
import type { SseEvent } from '../../../http/sse.js';
import type { AppContext } from '../../context.js';
import { keepMsOf } from '../../shared/with-model.js';
import type { BackgroundResponses } from './background-responses.js';
import type { EventLog } from './event-log.js';
import { runMcpLoop } from './mcp/mcp-loop.js';
import type { ResponseObject } from './object-schema.js';
import { ResponseEncoder } from './stream.js';
import type { ResponseWork } from './to-job.js';

export interface Later {
  queued: ResponseObject;
  /** The event log, if the request asked for a stream. */
  events: EventLog | null;
}

/**
 * Returns immediately while the response is computed. Throws `queue_full`, and `store_failed` if it cannot be stored.
 */
export function computeLater(
  work: ResponseWork,
  background: BackgroundResponses,
  { pool, options, isBehindGateway }: AppContext,
): Later {
  const { request, responses, input } = work;
  const { body } = request;
  if (isBehindGateway) throw wouldNotBeSeen();
  if (input === null) throw cannotBeStored();
  const events = work.eventsFor(body.model);
  const compute = async (signal: AbortSignal, log: EventLog | null): Promise<void> => {
    const { engine, release } = await pool.acquire(body.model, { signal, keepMs: keepMsOf(body) });
    try {
      const leased = { engine, signal };
      const keep = (batch: readonly SseEvent[]): void => log?.add(batch);
      if (work.usesServers()) return await runMcpLoop(work, events, leased, keep);
      const { streams, parsed } = await work.start(leased);
      await new ResponseEncoder(events, parsed, streams, body).collect(streams, keep);
    } finally {
      release();
    }
  };
  const log = background.start(responses.owner, {
    current: () => events.response,
    length: work.length,
    keepsEvents: body.stream ?? false,
    begin: () => {
      const announced = events.queue();
      responses.put({ response: events.response, input });
      return announced;
    },
    compute: async (signal, log) => {
      try {
        await compute(signal, log);
      } catch (thrown) {
        const error = toChasquiError(work.translate(thrown), request, options);
        const isCancelled = signal.aborted && error.code === 'request_cancelled';
        const body = toErrorBody(error);
        const last = isCancelled ? events.cancel(body) : events.fail(body);
        log?.add(last);
      }
    },
  });
  return { queued: events.response, events: log };
}

/** Background work is invisible to the gateway: it would stop the idle runner, and not count the tokens. */
function wouldNotBeSeen(): ChasquiError {
  return unsupportedParameter(
    'Apps of a cloud do not support `background`. Omit it and request a stream.',
    'background',
  );
}

function cannotBeStored(): ChasquiError {
  return unsupportedParameter(
    '`background` requires a stored response. This server stores none, or the input is too long.',
    'background',
  );
}
