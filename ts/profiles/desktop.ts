/** A server on a personal computer, for any client. */
import type { Profile } from './profile.js';
import { runtime } from './runtime.js';

export const desktop: Profile = {
  ...runtime,
  mode: 'desktop',

  // Table 1
  port: 1234,
  checksModelName: false,

  // Table 2.1
  unsupportedParameters: ['repetition_penalty', 'min_p'],
  sampling: { ...runtime.sampling, topK: 40 },
};
