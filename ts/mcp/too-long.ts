/** The error that replaces a message beyond the limit. */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { MAX_MESSAGE_BYTES } from './message-lines.js';

const INTERNAL_ERROR = -32_603;

export function tooLong(id: string | number): JSONRPCMessage {
  const message = `The result exceeds the limit of ${MAX_MESSAGE_BYTES / 2 ** 20} MiB.`;
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } };
}
