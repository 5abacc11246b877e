/** How far a prompt is, as llama-server reports it with `return_progress`. */
import type { TokenStream } from '../../../engine/engine.js';
import type { PromptProgressReport } from './chat-reply-schema.js';

export class PromptProgress {
  readonly #stream: Pick<TokenStream, 'prefill'>;
  readonly #began = performance.now();
  #reported = -1;

  constructor(stream: Pick<TokenStream, 'prefill'>) {
    this.#stream = stream;
  }

  /** What is new since the last call; the first report is of what was cached, the last one of the whole prompt. */
  take(): PromptProgressReport[] {
    const { cached, computed = 0, total = 0 } = this.#stream.prefill ?? {};
    if (cached === undefined) return [];
    const reports: PromptProgressReport[] = [];
    for (const processed of [cached, computed]) {
      if (processed <= this.#reported) continue;
      this.#reported = processed;
      reports.push({ total, cache: cached, processed, time_ms: Math.round(performance.now() - this.#began) });
    }
    return reports;
  }
}
