/** Requests that wait for a model to be loaded, and their limit. */

import { ChasquiError } from '../errors.js';
import { LOAD_OPTIONS } from '../options/load-option-table.js';
import type { ManagedSource } from './model-source.js';
import type { AcquireOptions, Lease } from './pool.js';

export interface Waiter {
  admit(lease: Lease): void;
  refuse(error: unknown): void;
  on: AcquireOptions;
}

/** Options of the waiter that all `/models/load` calls share. */
export const WITHOUT_REQUEST: AcquireOptions = {};

/** As many as an engine runs and queues by default. */
const MAX_WAITING = LOAD_OPTIONS.parallel.default + LOAD_OPTIONS.maxQueue.default;

export function isWaitedForWithoutRequest(waiters: ReadonlySet<Waiter> | undefined): boolean {
  return [...(waiters ?? [])].some(({ on }) => on === WITHOUT_REQUEST);
}

/** @throws {ChasquiError} `queue_full` */
export function refuseOneMore(
  waiters: ReadonlySet<Waiter> | undefined,
  { id, maxWaiting = MAX_WAITING }: Pick<ManagedSource, 'id' | 'maxWaiting'>,
): void {
  const requests = (waiters?.size ?? 0) - (isWaitedForWithoutRequest(waiters) ? 1 : 0);
  if (requests < maxWaiting) return;
  const error = new ChasquiError('queue_full', `${requests} requests wait for the model \`${id}\`: try again later.`);
  error.retryAfterSeconds = 5;
  throw error;
}
