/** A server on a personal computer, for any client. */
import { NEUTRAL_SAMPLING } from '../options/sampling-table.js';
import type { Profile } from './profile.js';

export const desktop: Profile = {
  mode: 'desktop',

  // Table 1
  host: '127.0.0.1',
  port: 1234,
  basePath: '',
  authentication: 'none',
  checksModelName: false,

  // Table 2.1
  unsupportedParameters: ['repetition_penalty', 'min_p'],
  sampling: {
    ...NEUTRAL_SAMPLING,
    temperature: 1.0,
    topP: 1.0,
    topK: 40,
    repeatPenalty: 1.0, // repeat_penalty
    minP: 0, // not a parameter of this mode
  },

  // Section 4, rule 1
  demandsJsonContentType: true,

  // Not in the specification
  maxPriority: 0,
  bodyLimit: 64 * 2 ** 20,
  corsOrigins: ['local'],
  checksHostHeader: true,
  hasLocalEndpoints: true,
  allowsLoopbackImageHosts: true,
};
