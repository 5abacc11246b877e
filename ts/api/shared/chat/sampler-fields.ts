/** The request fields of the sampling parameters, from their table. */
import * as s from '../../../http/schema/json-schema.js';
import {
  fieldOf,
  MAX_BREAKER_LENGTH,
  MAX_BREAKERS,
  MAX_MAGNITUDE,
  SAMPLER_LETTERS,
  SAMPLERS,
  SAMPLING_NUMBERS,
  type SamplerName,
  type SamplingField,
  SETTING_OF,
} from '../../../options/sampling-table.js';

const MAX_SAMPLERS = 16;

export const samplingFields = Object.fromEntries(
  Object.entries(SETTING_OF).map(([name, setting]) => {
    const row = SAMPLING_NUMBERS[setting];
    const accepted = 'accepts' in row ? row.accepts : boundsOf(row);
    return [name, s.field(description(row.help), row.type === 'integer' ? s.integer : s.number, accepted)];
  }),
) as Record<SamplingField, s.Schema<number>>;

/** Clamps values beyond the range of single precision or 32 bits. */
function boundsOf({ min, max }: { min: number; max: number }): s.JsonSchema {
  return { ...(min > -MAX_MAGNITUDE && { minimum: min }), ...(max < MAX_MAGNITUDE && { maximum: max }) };
}

/** Refers to other parameters by their names in requests. */
function description(help: string): string {
  return `${help.replace(/`(\w+)`/g, (_, name) => `\`${Object.hasOwn(SAMPLING_NUMBERS, name) ? fieldOf(name) : name}\``)}.`;
}

export const ollamaSampling: readonly string[] = Object.entries(SAMPLING_NUMBERS).flatMap(([name, row]) =>
  'ollama' in row ? fieldOf(name) : [],
);

export const samplerFields = {
  dry_sequence_breakers: s.field(
    'DRY: texts that end a repetition.',
    s.arrayOf(s.limited(s.string, { minLength: 1, maxLength: MAX_BREAKER_LENGTH })),
    { maxItems: MAX_BREAKERS },
  ),
  samplers: s.field(
    "Samplers to apply, in this order, as names or as a string of llama.cpp's letters; default: all but `adaptive_p`.",
    s.orString(
      s.limited(s.arrayOf(s.oneOf(...SAMPLERS, 'typical_p' as const) as s.Schema<SamplerName | 'typical_p'>), {
        minItems: 1,
        maxItems: MAX_SAMPLERS,
      }),
    ),
    { minLength: 1, maxLength: MAX_SAMPLERS, pattern: `^[${Object.values(SAMPLER_LETTERS).join('')}]*$` },
  ),
};
