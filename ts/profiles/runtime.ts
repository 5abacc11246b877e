/** `chasqui serve`: a developer's or an operator's own server, one model, no authentication. */
import { NEUTRAL_SAMPLING } from '../engine/job.js';
import { COMMON_PARAMETERS, type Profile } from './profile.js';

export const runtime: Profile = {
  mode: 'runtime',
  host: '127.0.0.1',
  port: 8080,
  sampling: { ...NEUTRAL_SAMPLING, topK: 50 },
  parameters: [...COMMON_PARAMETERS, 'repetition_penalty', 'min_p'],
  checksModelName: true,
  demandsJsonContentType: true,
};
