/**
 * The events of a response with llama-server's optional additions: prompt progress as separate events, and timings in the last
 * event of each batch.
 */

import type { TokenStream } from '../../../engine/engine.js';
import type { SseEvent } from '../../../http/sse.js';
import { CompletionEventEncoder, type CompletionProtocol } from '../../shared/completion/completion-event-encoder.js';
import { PromptProgress, RunningTimings, toTimings } from '../../shared/completion/reply-fields.js';
import type { ChoiceBatch } from '../../shared/completion/stream-reply.js';
import type { ResponseEvents } from './response-events.js';
import type { ResponsesRequest } from './schema.js';

export class ResponseEncoder extends CompletionEventEncoder {
  readonly progress: (() => SseEvent[]) | undefined;
  readonly #running: RunningTimings | null;

  constructor(
    events: CompletionProtocol & Pick<ResponseEvents, 'progress'>,
    parsed: boolean,
    streams: readonly TokenStream[],
    asked: Pick<ResponsesRequest, 'timings_per_token' | 'return_progress'>,
  ) {
    super(events, parsed);
    this.#running = asked.timings_per_token ? new RunningTimings(streams[0]) : null;
    if (!asked.return_progress || streams[0] === undefined) return;
    const progress = new PromptProgress(streams[0]);
    this.progress = () => {
      const reports = progress.take();
      if (reports.length === 0) return [];
      return [
        ...this.begin(),
        ...reports.flatMap((report) => this.#timed([events.progress(report)], report.processed)),
      ];
    };
  }

  override encode(batch: ChoiceBatch): SseEvent[] {
    const reported = this.progress?.() ?? [];
    this.#running?.add(batch.tokens.length);
    return [...reported, ...this.#timed(super.encode(batch))];
  }

  override end(): SseEvent[] {
    const events = super.end();
    return this.#running === null ? events : withTimings(events, toTimings(this.finish));
  }

  #timed(events: SseEvent[], processed?: number): SseEvent[] {
    return this.#running === null ? events : withTimings(events, this.#running.soFar(processed));
  }
}

/** Returns the same events; the last one has the times. */
function withTimings(events: SseEvent[], timings: object): SseEvent[] {
  const last = events.at(-1);
  // A token that ends within a character causes no event. All events of a response have names.
  if (last === undefined || typeof last === 'string') return events;
  const data = `${last.data.slice(0, -1)},"timings":${JSON.stringify(timings)}}`;
  return [...events.slice(0, -1), { ...last, data }];
}
