/** Request fields of llama.cpp's samplers beyond the usual ones. Endpoints with completions take them under these names. */
import type { SamplerName } from '../../../engine/job.js';
import { arrayOf, field, integer, limited, number, oneOf, orString, string } from '../../../http/schema/json-schema.js';

/** Each of them is looked for in the whole vocabulary. */
export const MAX_BREAKERS = 16;
/** In characters. */
export const MAX_BREAKER_LENGTH = 40;
const MAX_SAMPLERS = 16;

const SAMPLER_NAMES = [
  'penalties',
  'dry',
  'top_n_sigma',
  'top_k',
  'typ_p',
  'typical_p',
  'top_p',
  'min_p',
  'xtc',
  'temperature',
] as const satisfies readonly (SamplerName | 'typical_p')[];

const share = { minimum: 0, maximum: 1 };

export const samplerFields = {
  repeat_last_n: field(
    'How many of the last tokens the penalties look at; 0 is none, -1 all of the text.',
    limited(integer, { minimum: -1 }),
  ),
  typical_p: field(
    'Chooses among the tokens whose surprise is nearest to the expected one, up to this probability; 1 is off.',
    limited(number, { minimum: 0 }),
  ),
  top_n_sigma: field(
    'Leaves out tokens whose logits are more than this many standard deviations below the largest; 0 or less is off.',
    number,
  ),
  xtc_probability: field(
    'How often all tokens that reach `xtc_threshold` are left out but the least probable of them; 0 is never.',
    number,
    share,
  ),
  xtc_threshold: field('The probability that `xtc_probability` is about; above 0.5 it is off.', number, share),
  dynatemp_range: field(
    'Lets the temperature vary by this much, with how certain the model is; 0 is off.',
    limited(number, { minimum: 0 }),
  ),
  dynatemp_exponent: field('How that depends on the certainty.', limited(number, { minimum: 0 })),
  mirostat: field(
    'Holds the surprise of the text at `mirostat_tau`, by this version of Mirostat, in place of all samplers but the temperature; 0 is off.',
    limited(integer, { minimum: 0, maximum: 2 }),
  ),
  mirostat_tau: field('The surprise to hold, in bits.', limited(number, { minimum: 0 })),
  mirostat_eta: field('How fast Mirostat learns.', limited(number, { minimum: 0 })),
  dry_multiplier: field('How much tokens are penalised that would prolong a repetition; 0 is off.', number),
  dry_base: field(
    'The penalty grows by this factor with each token of the repetition; below 1 it is the default.',
    limited(number, { minimum: 0 }),
  ),
  dry_allowed_length: field(
    'How long repetitions may be without a penalty, in tokens.',
    limited(integer, { minimum: 0 }),
  ),
  dry_penalty_last_n: field(
    'How many of the last tokens are searched for repetitions; 0 is none, -1 all of the text.',
    limited(integer, { minimum: -1 }),
  ),
  dry_sequence_breakers: field(
    'Texts at which repetitions end.',
    arrayOf(limited(string, { minLength: 1, maxLength: MAX_BREAKER_LENGTH })),
    { maxItems: MAX_BREAKERS },
  ),
  samplers: field(
    'The samplers to apply, in this order, as names or as the letters that llama.cpp has for them; without it, all in the usual order.',
    orString(limited(arrayOf(oneOf(...SAMPLER_NAMES)), { minItems: 1, maxItems: MAX_SAMPLERS })),
    { minLength: 1, maxLength: MAX_SAMPLERS, pattern: '^[edskypmxt]*$' },
  ),
};
