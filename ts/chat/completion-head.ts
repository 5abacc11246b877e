import { newId } from '../new-id.js';
import { VERSION } from '../version.js';

/** What all chunks of one answer, or its whole reply, have in common. */
export interface CompletionHead {
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
  /** What computes the answers: the same seed means the same only while this stays. */
  system_fingerprint: string;
}

export function newCompletionHead(model: string, prefix: 'chatcmpl' | 'cmpl' = 'chatcmpl'): CompletionHead {
  return {
    id: newId(`${prefix}-`),
    created: Math.floor(Date.now() / 1000),
    model,
    system_fingerprint: `chasqui-${VERSION}`,
  };
}
