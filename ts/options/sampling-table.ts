/**
 * The sampling parameters, each described once. The request fields of all dialects, the options of `loadModel`, their flags
 * and environment variables, the tables in ts/cli/README.md and ts/http/README.md, and native/core/sampling-fields.h derive
 * from these rows. `npx tsx test/house/tables.ts` rewrites the generated files.
 */
import {
  inGroup,
  integer,
  MAX_COUNT,
  type NumberRow,
  number,
  type OptionsOf,
  type UngroupedRows,
} from './option-row.js';

export interface SamplingRow extends Omit<NumberRow, 'group' | 'otherwise' | 'flag'> {
  readonly flag?: NumberRow['flag'];
  /** A second name of the request field. If a request has both, this one wins. */
  readonly alias?: string;
  /** The value that disables it. */
  readonly neutral: number;
  /** Bounds of the request field, if it accepts values outside `min` and `max`. The job gets them clamped. */
  readonly accepts?: { readonly minimum?: number; readonly exclusiveMinimum?: number };
  /** `[limit, value]`: a request value below the limit becomes this value. */
  readonly below?: readonly [limit: number, value: number];
  /** Whether it is also one of Ollama's `options`. */
  readonly ollama?: true;
  /** Whether each hosting mode has its own default (ts/profiles). */
  readonly perMode?: true;
}

/** The engine samples in single precision. Larger values have no further effect and could overflow. */
export const MAX_MAGNITUDE = 1e6;
const MIN_MAGNITUDE = 1e-6;

const share = { type: 'number', min: 0, max: 1 } as const;
const positive = { type: 'number', min: 0, max: MAX_MAGNITUDE } as const;
const signed = { type: 'number', min: -MAX_MAGNITUDE, max: MAX_MAGNITUDE } as const;
const tokens = { type: 'integer', max: MAX_COUNT, unit: 'tokens' } as const;

/** The numeric parameters, in the order of the `/completion` reply. */
export const SAMPLING_NUMBERS = {
  temperature: {
    ...positive,
    neutral: 1,
    below: [MIN_MAGNITUDE, 0],
    flag: '--temp',
    aliases: ['--temperature'],
    ollama: true,
    perMode: true,
    help: 'Sampling temperature; 0 is greedy',
  },
  topK: {
    ...integer(0),
    neutral: 0,
    accepts: { minimum: -1 },
    perMode: true,
    help: 'Keep the k most probable tokens; 0 keeps all',
  },
  topP: {
    ...share,
    neutral: 1,
    ollama: true,
    perMode: true,
    help: 'Keep the most probable tokens up to this cumulative probability; 1 keeps all',
  },
  minP: {
    ...share,
    neutral: 0,
    ollama: true,
    perMode: true,
    help: 'Drop tokens less probable than this fraction of the most probable one; 0 keeps all',
  },
  repeatPenalty: {
    ...number(MIN_MAGNITUDE, MAX_MAGNITUDE),
    alias: 'repetition_penalty',
    neutral: 1,
    accepts: { exclusiveMinimum: 0 },
    ollama: true,
    perMode: true,
    help: 'Divide the logits of tokens among the last `repeatLastN`; 1 disables it',
  },
  repeatLastN: {
    ...tokens,
    min: -1,
    neutral: 64,
    ollama: true,
    help: 'Window of the three penalties; 0 disables them, -1 is the whole context',
  },
  presencePenalty: {
    ...signed,
    neutral: 0,
    ollama: true,
    help: 'Subtract this from the logits of tokens among the last `repeatLastN`',
  },
  frequencyPenalty: {
    ...signed,
    neutral: 0,
    ollama: true,
    help: 'Subtract this once for each occurrence of the token among the last `repeatLastN`',
  },
  typicalP: {
    ...share,
    neutral: 1,
    accepts: { minimum: 0 },
    aliases: ['--typical'],
    ollama: true,
    help: 'Locally typical sampling: cumulative probability to keep; 1 disables it',
  },
  topNSigma: {
    ...number(-1, MAX_MAGNITUDE),
    neutral: -1,
    accepts: {},
    aliases: ['--top-nsigma'],
    help: 'Drop logits more than this many standard deviations below the largest; 0 or less disables it',
  },
  xtcProbability: {
    ...share,
    neutral: 0,
    help: 'XTC: probability of dropping all tokens above `xtcThreshold` except the least probable; 0 disables it',
  },
  xtcThreshold: {
    ...share,
    neutral: 0.1,
    help: 'XTC: token probability threshold; above 0.5 disables it',
  },
  dynatempRange: {
    ...positive,
    neutral: 0,
    help: 'Dynamic temperature: range around the temperature, by entropy; 0 disables it',
  },
  dynatempExponent: {
    ...positive,
    neutral: 1,
    flag: '--dynatemp-exp',
    help: 'Dynamic temperature: exponent of the normalized entropy',
  },
  mirostat: {
    ...integer(0, 2),
    neutral: 0,
    ollama: true,
    help: 'Mirostat version, which replaces all samplers except the temperature; 0 disables it',
  },
  mirostatTau: {
    ...positive,
    neutral: 5,
    flag: '--mirostat-ent',
    ollama: true,
    help: 'Mirostat: target surprise in bits',
  },
  mirostatEta: {
    ...positive,
    neutral: 0.1,
    flag: '--mirostat-lr',
    ollama: true,
    help: 'Mirostat: learning rate',
  },
  adaptiveTarget: {
    ...number(-1, 1),
    neutral: -1,
    accepts: {},
    help: 'Adaptive-p: token probability to aim at; negative disables it',
  },
  adaptiveDecay: {
    ...number(0, 0.99),
    neutral: 0.9,
    help: 'Adaptive-p: decay of the mean of past probabilities',
  },
  dryMultiplier: {
    ...signed,
    neutral: 0,
    help: 'DRY: penalty on tokens that extend a repetition; 0 disables it',
  },
  dryBase: {
    ...number(1, MAX_MAGNITUDE),
    neutral: 1.75,
    accepts: { minimum: 0 },
    below: [1, 1.75],
    help: 'DRY: growth of the penalty per repeated token',
  },
  dryAllowedLength: {
    ...tokens,
    min: 0,
    neutral: 2,
    help: 'DRY: longest repetition without a penalty',
  },
  dryPenaltyLastN: {
    ...tokens,
    min: -1,
    neutral: 64,
    help: 'DRY: window searched for repetitions; 0 disables it, -1 is the whole context',
  },
} as const satisfies Readonly<Record<string, SamplingRow>>;

export type SamplingNumber = keyof typeof SAMPLING_NUMBERS;

const NUMBERS = Object.entries(SAMPLING_NUMBERS) as [SamplingNumber, SamplingRow][];

/** The samplers in their default order, which has no `adaptive_p`, each with the letter that llama.cpp uses for it. */
export const SAMPLER_LETTERS = {
  penalties: 'e',
  dry: 'd',
  top_n_sigma: 's',
  top_k: 'k',
  typ_p: 'y',
  top_p: 'p',
  min_p: 'm',
  xtc: 'x',
  temperature: 't',
  adaptive_p: 'a',
} as const;
export type SamplerName = keyof typeof SAMPLER_LETTERS;
export const SAMPLERS = Object.keys(SAMPLER_LETTERS) as SamplerName[];

/** llama.cpp's number for a random seed. As a seed, it would give all its users the same completions. */
export const ANY_SEED = 2 ** 32 - 1;

/** Each sequence breaker is searched for in the whole vocabulary. */
export const MAX_BREAKERS = 16;
/** In characters. Native code takes 160 bytes, and a character has at most four. */
export const MAX_BREAKER_LENGTH = 40;

/** How the next token is chosen. `SAMPLING_NUMBERS` documents the numbers. */
export interface SamplingSettings extends Record<SamplingNumber, number> {
  /** Texts that end a repetition. */
  drySequenceBreakers: readonly string[];
  /** The samplers to apply, in this order; empty: all but `adaptive_p`, in the default order. */
  samplers: readonly SamplerName[];
  /** Token id → bias of its logit before all samplers; -Infinity bans the token. */
  logitBias: Readonly<Record<number, number>>;
  /**
   * 32 bits; `null` draws a random one. A seed makes a completion repeatable, so drafts from the text are off unless the
   * model is batch-invariant (`ModelInfo.batchInvariant`).
   */
  seed: number | null;
}

/** All samplers disabled. */
export const NEUTRAL_SAMPLING: Readonly<SamplingSettings> = {
  ...(Object.fromEntries(NUMBERS.map(([name, { neutral }]) => [name, neutral])) as Record<SamplingNumber, number>),
  drySequenceBreakers: ['\n', ':', '"', '*'],
  samplers: [],
  logitBias: {},
  seed: null,
};

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : '';

/** The request field, and the member of the C++ struct: `top_k` for `topK`. */
export function fieldOf<Name extends string>(name: Name): SnakeCase<Name> {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as SnakeCase<Name>;
}

/** A request field that sets a number of the sampler. */
export type SamplingField =
  | SnakeCase<SamplingNumber>
  | Extract<(typeof SAMPLING_NUMBERS)[SamplingNumber], { alias: string }>['alias'];

/** Request field → the number that it sets. The alias of a field comes after the field. */
export const SETTING_OF = Object.fromEntries(
  NUMBERS.flatMap(([name, { alias }]) => [fieldOf(name), ...(alias ? [alias] : [])].map((each) => [each, name])),
) as Readonly<Record<SamplingField, SamplingNumber>>;

type NumberOptions = {
  [Name in SamplingNumber]: Pick<(typeof SAMPLING_NUMBERS)[Name], 'type' | 'min' | 'max' | 'help'> & {
    otherwise: string;
  };
};

/** The same parameters as options of `loadModel`. */
export const SAMPLING_OPTIONS = inGroup('Sampling defaults', {
  ...(Object.fromEntries(
    NUMBERS.map(([name, { alias, neutral, accepts, below, ollama, perMode, ...row }]) => [
      name,
      { ...row, otherwise: perMode ? 'set by the mode' : String(neutral) },
    ]),
  ) as NumberOptions),
  seed: {
    ...integer(-1, ANY_SEED),
    short: '-s',
    help: 'Seed of requests without one; -1 or 4294967295 draws a random seed per request',
    otherwise: '-1',
  },
  drySequenceBreakers: {
    type: 'texts',
    max: MAX_BREAKERS,
    maxLength: MAX_BREAKER_LENGTH,
    flag: '--dry-sequence-breaker',
    help: 'DRY: text that ends a repetition; repeatable',
    otherwise: 'line break, colon, quotation mark, asterisk',
  },
  samplers: {
    type: 'names',
    each: { pattern: new RegExp(`^(${SAMPLERS.join('|')})$`), says: `some of ${SAMPLERS.join(', ')}` },
    help: 'Samplers to apply, in this order',
    otherwise: "all but adaptive_p, in llama.cpp's order",
  },
} as const satisfies UngroupedRows);

const OPTION_NAMES = Object.keys(SAMPLING_OPTIONS) as (keyof typeof SAMPLING_OPTIONS)[];

export function samplingOf(options: OptionsOf<typeof SAMPLING_OPTIONS>): Partial<SamplingSettings> {
  const given = OPTION_NAMES.filter((name) => options[name] !== undefined);
  const sampling: Record<string, unknown> = Object.fromEntries(given.map((name) => [name, options[name]]));
  if (sampling.seed === -1 || sampling.seed === ANY_SEED) delete sampling.seed;
  const { samplers } = options;
  if (typeof samplers === 'string') sampling.samplers = samplers.split(',') as SamplerName[];
  return sampling;
}
