import { randomUUID } from 'node:crypto';

/** What all chunks of one answer, or its whole reply, have in common. */
export interface CompletionHead {
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
}

export function newCompletionHead(model: string, prefix: 'chatcmpl' | 'cmpl' = 'chatcmpl'): CompletionHead {
  return {
    id: `${prefix}-${randomUUID().replaceAll('-', '')}`,
    created: Math.floor(Date.now() / 1000),
    model,
  };
}
