/** Calls of webhooks with the results of queued requests. */
import type { WebhookSource } from '../webhooks/webhooks.js';
import type { QueuedRequest, QueueStore } from './queue-store.js';

/** The webhooks of completed requests. */
export function webhookCalls(store: QueueStore): WebhookSource {
  return {
    due: (exceptOrgs, exceptIds) => {
      const request = store.dueWebhook(exceptOrgs, exceptIds);
      if (request === undefined) return undefined;
      const { id, org, webhook, webhookAttempts: retries } = request;
      return { id, org, url: webhook ?? '', retries, payload: () => toPayload(request, store.result(id)) };
    },
    called: (id, outcome) => store.webhookCalled(id, outcome),
  };
}

/** The fields of fal. */
function toPayload({ id, status, type }: QueuedRequest, result: Buffer): object {
  const isOk = status === 200;
  const ids = { request_id: id, gateway_request_id: id, status: isOk ? 'OK' : 'ERROR' };
  const error = isOk ? {} : { error: `Invalid status code: ${status}` };
  if (!/^application\/json\b/.test(type ?? '')) {
    return { ...ids, ...error, payload: null, payload_error: `The reply has the content type ${type}.` };
  }
  return { ...ids, ...error, payload: JSON.parse(result.toString('utf8')) };
}
