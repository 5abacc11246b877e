/** The queue of a cloud: stored requests, their dispatch and their webhooks. */
import type { Database } from '../store/database.js';
import { type WebhookParts, Webhooks } from '../webhooks/webhooks.js';
import { Dispatcher, type DispatcherParts } from './dispatcher.js';
import { QueueStore } from './queue-store.js';
import { webhookCalls } from './webhook-calls.js';

export interface QueueParts
  extends Pick<DispatcherParts, 'gateway' | 'directory' | 'tickets' | 'onError'>,
    Pick<WebhookParts, 'keyOf' | 'hosts'> {
  database: Database;
}

const TICK_MS = 1000;
const CLEAN_UP_MS = 60_000;
const RESULTS_OF_ORG = { count: 10_000, bytes: 256 * 2 ** 20 };
const RESULT_AGE_MS = 24 * 3_600_000;

export class Queue {
  readonly store: QueueStore;
  readonly dispatcher: Dispatcher;
  readonly webhooks: Webhooks;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor({ database, ...parts }: QueueParts) {
    this.store = new QueueStore(database);
    this.webhooks = new Webhooks({ ...parts, source: webhookCalls(this.store) });
    this.dispatcher = new Dispatcher({ ...parts, store: this.store, onDone: () => this.webhooks.tick() });
    const every = (ms: number, action: () => void): void => {
      const run = (): void => {
        try {
          action();
        } catch (error) {
          parts.onError(error);
        }
      };
      this.#timers.push(setInterval(run, ms).unref());
    };
    every(TICK_MS, () => {
      this.dispatcher.tick();
      this.webhooks.tick();
    });
    every(CLEAN_UP_MS, () => this.store.deleteResults({ before: Date.now() - RESULT_AGE_MS, ...RESULTS_OF_ORG }));
  }

  /** Running requests and calls of webhooks are repeated by the next process. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.webhooks.close();
    await this.dispatcher.close();
  }
}
