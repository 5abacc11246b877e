/** Exact memory estimates, one at a time and cached: each starts a process. */

import type { LoadOptions } from '../engine/load-options.js';
import { ChasquiError } from '../errors.js';
import { type ExactFit, type ExactSource, exactFit } from '../hub/exact-fit.js';
import { chooseQuantisation, parseModelName } from '../hub/model-name.js';
import type { Hub } from './hub.js';
import type { Instances } from './instances.js';

const MAX_WAITING = 8;
const MAX_KEPT = 100;
/** Free memory changes, so results expire. */
const KEPT_MS = 30_000;
const USUAL_CONTEXT = 4096;

export class ExactFits {
  readonly #kept = new Map<string, { at: number; fit: ExactFit }>();
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly instances: Instances,
    private readonly hub: Hub,
  ) {}

  /** `name`: a local or hub model. Rejects as `exactFit` does, or with `queue_full`. */
  async of(name: string, context: number | undefined, signal: AbortSignal): Promise<ExactFit> {
    const local = this.instances.models.find(({ id }) => id === name);
    const load: LoadOptions = local === undefined ? {} : this.instances.defaultsOf(local.id);
    const wanted = context ?? load.contextSize ?? Math.min(USUAL_CONTEXT, local?.contextLength ?? USUAL_CONTEXT);
    const key = JSON.stringify([name, wanted, load]);
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.at > performance.now() - KEPT_MS) return kept.fit;
    const fit = await this.#next(async () => {
      signal.throwIfAborted();
      const source = local ?? (await this.#atHub(name, signal));
      return exactFit(source, wanted, { load: { parallel: 1, ...load }, signal });
    });
    this.#kept.set(key, { at: performance.now(), fit });
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
    return fit;
  }

  async #atHub(name: string, signal: AbortSignal): Promise<ExactSource> {
    const { repo, tag } = parseModelName(name);
    const { client } = this.hub;
    const { commit, quantisations } = await client.model(repo, signal);
    return { client, repo, commit, quantisation: chooseQuantisation(quantisations, tag) };
  }

  async #next(work: () => Promise<ExactFit>): Promise<ExactFit> {
    if (this.#waiting >= MAX_WAITING) {
      const error = new ChasquiError('queue_full', 'Too many memory estimates are queued. Try again in a moment.');
      error.retryAfterSeconds = 2;
      throw error;
    }
    this.#waiting += 1;
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result.finally(() => {
      this.#waiting -= 1;
    });
  }
}
