/** Descriptions of stored requests for clients and operators. */
import type { QueuedRequest } from './queue-store.js';

export function errorIn(result: Buffer): { error: string; error_type?: string } {
  try {
    const { error } = JSON.parse(result.toString('utf8'));
    return { error: error.message, error_type: error.code ?? error.type };
  } catch {
    return { error: 'The request failed.' };
  }
}

export function webhookState({ state, webhookDue, webhookAttempts, webhookError }: QueuedRequest) {
  const isPending = state !== 'done' || webhookDue !== null;
  const isDelivered = !isPending && webhookError === null;
  return {
    state: isPending ? 'pending' : isDelivered ? 'delivered' : 'failed',
    attempts: webhookAttempts,
    error: webhookError,
  };
}
