/** A developer's or an operator's own server, with one model or several; it requires keys only if some are configured. */
import { NEUTRAL_SAMPLING } from '../options/sampling-table.js';
import type { Profile } from './profile.js';

export const runtime: Profile = {
  mode: 'runtime',

  // Table 1
  host: '127.0.0.1',
  port: 8080,
  basePath: '',
  authentication: 'none',
  checksModelName: true,

  // Table 2.1; `stop` is the desktop's, and an extension here
  unsupportedParameters: ['repeat_penalty'],
  sampling: {
    ...NEUTRAL_SAMPLING,
    temperature: 1.0,
    topP: 1.0,
    topK: 50,
    repeatPenalty: 1.0, // repetition_penalty
    minP: 0, // off
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
