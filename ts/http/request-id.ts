import { randomUUID } from 'node:crypto';

/** In the header `x-request-id` of every reply, and beside every fault in the log. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}
