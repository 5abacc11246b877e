/** The options of `loadModel` that say how a model samples unless a request says otherwise. */
import {
  ANY_SEED,
  type GenerateOptions,
  NEUTRAL_SAMPLING,
  SAMPLERS,
  type SamplerName,
  type SamplingSettings,
} from './job.js';
import { MAX_COUNT, type OptionRows, type OptionsOf } from './option-row.js';

const GROUP = 'Sampling (requests go before these)';
/** Beyond this, larger values change nothing: the engine samples in single precision. */
const MAX_MAGNITUDE = 1e6;

const common = { group: GROUP, otherwise: "the mode's" } as const;
const neutral = (name: keyof SamplingSettings) => ({ group: GROUP, otherwise: String(NEUTRAL_SAMPLING[name]) });

export const SAMPLING_OPTIONS = {
  temperature: {
    ...common,
    type: 'number',
    min: 0,
    max: MAX_MAGNITUDE,
    flag: '--temp',
    aliases: ['--temperature'],
    help: 'how freely tokens are chosen; 0 always takes the most probable one',
  },
  topK: {
    ...common,
    type: 'integer',
    min: 0,
    max: MAX_COUNT,
    flag: '--top-k',
    help: 'choose among this many most probable tokens; 0 is all',
  },
  topP: {
    ...common,
    type: 'number',
    min: 0,
    max: 1,
    flag: '--top-p',
    help: 'choose among the most probable tokens that together have this probability',
  },
  minP: {
    ...common,
    type: 'number',
    min: 0,
    max: 1,
    flag: '--min-p',
    help: 'leave out tokens less probable than this share of the most probable one; 0 is off',
  },
  seed: {
    type: 'integer',
    min: -1,
    max: ANY_SEED,
    flag: '--seed',
    short: '-s',
    group: GROUP,
    help: 'the seed of every request that names none; -1, or 4294967295 as llama.cpp has it: a new one for each',
    otherwise: '-1',
  },
  repeatPenalty: {
    ...common,
    type: 'number',
    min: 1e-6,
    max: MAX_MAGNITUDE,
    flag: '--repeat-penalty',
    help: 'divides the logits of tokens that were there lately; 1 is off',
  },
  repeatLastN: {
    ...neutral('repeatLastN'),
    type: 'integer',
    min: -1,
    max: MAX_COUNT,
    unit: 'tokens',
    flag: '--repeat-last-n',
    placeholder: 'n',
    help: 'how many of the last tokens the penalties look at; 0 is none, -1 all',
  },
  presencePenalty: {
    ...neutral('presencePenalty'),
    type: 'number',
    min: -MAX_MAGNITUDE,
    max: MAX_MAGNITUDE,
    flag: '--presence-penalty',
    help: 'is subtracted from the logits of tokens that were there lately',
  },
  frequencyPenalty: {
    ...neutral('frequencyPenalty'),
    type: 'number',
    min: -MAX_MAGNITUDE,
    max: MAX_MAGNITUDE,
    flag: '--frequency-penalty',
    help: 'the same for each time that the token was there',
  },
  typicalP: {
    ...neutral('typicalP'),
    type: 'number',
    min: 0,
    max: 1,
    flag: '--typical-p',
    aliases: ['--typical'],
    help: 'choose among the tokens whose surprise is nearest to the expected one; 1 is off',
  },
  topNSigma: {
    ...neutral('topNSigma'),
    type: 'number',
    min: -1,
    max: MAX_MAGNITUDE,
    flag: '--top-n-sigma',
    aliases: ['--top-nsigma'],
    help: 'leave out logits more than this many standard deviations below the largest; -1 is off',
  },
  xtcProbability: {
    ...neutral('xtcProbability'),
    type: 'number',
    min: 0,
    max: 1,
    flag: '--xtc-probability',
    help: 'how often tokens that reach `xtcThreshold` are left out but the least probable of them',
  },
  xtcThreshold: {
    ...neutral('xtcThreshold'),
    type: 'number',
    min: 0,
    max: 1,
    flag: '--xtc-threshold',
    help: 'the probability for that; above 0.5 it is off',
  },
  dynatempRange: {
    ...neutral('dynatempRange'),
    type: 'number',
    min: 0,
    max: MAX_MAGNITUDE,
    flag: '--dynatemp-range',
    help: 'how far the temperature varies with how certain the model is; 0 is off',
  },
  dynatempExponent: {
    ...neutral('dynatempExponent'),
    type: 'number',
    min: 0,
    max: MAX_MAGNITUDE,
    flag: '--dynatemp-exp',
    help: 'how that depends on the certainty',
  },
  mirostat: {
    ...neutral('mirostat'),
    type: 'integer',
    min: 0,
    max: 2,
    flag: '--mirostat',
    help: 'the version of Mirostat to use in place of all samplers but the temperature; 0 is off',
  },
  mirostatTau: {
    ...neutral('mirostatTau'),
    type: 'number',
    min: 0,
    max: MAX_MAGNITUDE,
    flag: '--mirostat-ent',
    help: 'the surprise that Mirostat holds, in bits',
  },
  mirostatEta: {
    ...neutral('mirostatEta'),
    type: 'number',
    min: 0,
    max: MAX_MAGNITUDE,
    flag: '--mirostat-lr',
    help: 'how fast Mirostat learns',
  },
  dryMultiplier: {
    ...neutral('dryMultiplier'),
    type: 'number',
    min: -MAX_MAGNITUDE,
    max: MAX_MAGNITUDE,
    flag: '--dry-multiplier',
    help: 'how much tokens are penalised that would prolong a repetition; 0 is off',
  },
  dryBase: {
    ...neutral('dryBase'),
    type: 'number',
    min: 1,
    max: MAX_MAGNITUDE,
    flag: '--dry-base',
    help: 'the factor of that penalty for each token of the repetition',
  },
  dryAllowedLength: {
    ...neutral('dryAllowedLength'),
    type: 'integer',
    min: 0,
    max: MAX_COUNT,
    unit: 'tokens',
    flag: '--dry-allowed-length',
    placeholder: 'n',
    help: 'how long repetitions may be without a penalty',
  },
  dryPenaltyLastN: {
    ...neutral('dryPenaltyLastN'),
    type: 'integer',
    min: -1,
    max: MAX_COUNT,
    unit: 'tokens',
    flag: '--dry-penalty-last-n',
    placeholder: 'n',
    help: 'how many of the last tokens are searched for repetitions; 0 is none, -1 all',
  },
  drySequenceBreakers: {
    type: 'texts',
    max: 16,
    // Native code takes 160 bytes, and a character has at most four.
    maxLength: 40,
    flag: '--dry-sequence-breaker',
    group: GROUP,
    help: 'a text at which repetitions end; may be given several times',
    otherwise: 'a line break, a colon, a quotation mark, an asterisk',
  },
  samplers: {
    type: 'names',
    each: { pattern: new RegExp(`^(${SAMPLERS.join('|')})$`), says: `some of ${SAMPLERS.join(', ')}` },
    flag: '--samplers',
    group: GROUP,
    help: 'the samplers to apply, in this order',
    otherwise: 'all, in the order of llama.cpp',
  },
} as const satisfies OptionRows;

const NAMES = Object.keys(SAMPLING_OPTIONS) as (keyof typeof SAMPLING_OPTIONS)[];

/** What these options say, as a request would. */
export function samplingOf(options: OptionsOf<typeof SAMPLING_OPTIONS>): Partial<SamplingSettings> {
  const given = NAMES.filter((name) => options[name] !== undefined);
  const sampling: Record<string, unknown> = Object.fromEntries(given.map((name) => [name, options[name]]));
  if (sampling.seed === -1 || sampling.seed === ANY_SEED) delete sampling.seed;
  const { samplers } = options;
  if (typeof samplers === 'string') sampling.samplers = samplers.split(',') as SamplerName[];
  return sampling satisfies Partial<Record<keyof GenerateOptions, unknown>>;
}
