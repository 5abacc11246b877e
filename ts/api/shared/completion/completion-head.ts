import { newId } from '../../../new-id.js';
import { VERSION } from '../../../version.js';

/** What all chunks of one reply, or the whole reply, begin with. */
export interface CompletionHead {
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
  /** What computes completions: a seed gives the same completion only as long as this stays the same. */
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
