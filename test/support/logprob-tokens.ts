/** Tokens with log-probabilities, including an incomplete character, and their wire format. */
import type { Token } from '../../ts/engine/engine.js';
import { finishOf } from './fake-engine.js';

const h = { id: 1, bytes: Uint8Array.from([104]), logprob: -0.5 };
const e9a = { id: 2, bytes: Uint8Array.from([0xc3]), logprob: -1 };
const e9b = { id: 3, bytes: Uint8Array.from([0xa9]), logprob: Number.NEGATIVE_INFINITY };
const end = { id: 0, bytes: Uint8Array.from([]), logprob: -0.1 };

export const LOGPROB_BATCHES: Token[][] = [
  [{ id: 1, text: 'h', logprobs: { ...h, top: [h, e9a] } }],
  [{ id: 2, text: '', logprobs: { ...e9a, top: [] } }],
  [{ id: 3, text: 'é', logprobs: { ...e9b, top: [] } }],
  [{ id: 0, text: '', logprobs: { ...end, top: [] }, finish: finishOf(5, 4) }],
];

const hWire = { token: 'h', logprob: -0.5, bytes: [104] };
const e9Wire = { token: '\ufffd', logprob: -1, bytes: [0xc3] };

export const LOGPROB_ENTRIES = [
  { ...hWire, top_logprobs: [hWire, e9Wire] },
  { ...e9Wire, top_logprobs: [] },
  { token: '\ufffd', logprob: -9999, bytes: [0xa9], top_logprobs: [] },
];
