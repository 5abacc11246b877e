/** A hostile request and its expected outcome. */
import type { Exchange } from './send.js';

export interface Sender {
  port: number;
  /** The model's name in requests. */
  model: string;
  /** Sends JSON and waits for the whole reply. */
  post(path: string, body: object | string): Promise<Exchange>;
  /** `post` to the chat endpoint, with the model's name and a message unless `body` has others. */
  chat(body: object): Promise<Exchange>;
}

export interface Entry {
  name: string;
  /** Resolves with what became of it: of several requests, with the worst. */
  send(sender: Sender): Promise<Exchange>;
  /** Statuses that are right; without them any 4xx is, and an answer. */
  statuses?: readonly number[];
  /** Standard error must contain only a few lines. */
  quiet?: boolean;
}

/** An entry of one chat request. */
export function chat(name: string, body: object | (() => object), statuses?: readonly number[]): Entry {
  return {
    name,
    send: (sender) => sender.chat(typeof body === 'function' ? body() : body),
    ...(statuses && { statuses }),
  };
}

export const REFUSED: readonly number[] = [400, 413, 422];
export const ANSWERED: readonly number[] = [200];

/** The request that went worst: one that failed, or else the slowest. */
export function worst(exchanges: readonly Exchange[]): Exchange {
  const failed = exchanges.find(({ status }) => status === 0 || status >= 500);
  const slowest = [...exchanges].sort((a, b) => b.ms - a.ms)[0] as Exchange;
  return failed ?? slowest;
}
