/** Options of `loadModel` about the model's files: names, projector, adapters, template, reasoning, loading. */
import { choice, inGroup, integer, type OptionRows, off, on, text, type UngroupedRows } from './option-row.js';

const MODEL = 'Model';
const LOADING = 'Loading';
const OWN_TEMPLATE = "the model's own";

export const MAX_ADAPTERS = 64;
/** Models produce nonsense from about 10 on. */
export const MAX_ADAPTER_SCALE = 100;
/** In characters; the message is tokenized for each job. */
export const MAX_REASONING_MESSAGE = 2000;
/** In characters. */
export const MAX_CACHE_SALT = 256;

const MODEL_GROUP_OPTIONS = inGroup(MODEL, {
  alias: {
    type: 'names',
    short: '-a',
    aliases: ['--served-model-name'],
    help: 'Model name in requests, and further names; comma-separated or repeatable',
    otherwise: 'the file name without .gguf',
  },
  tags: {
    type: 'names',
    placeholder: 'tags',
    help: 'Tags of the model in lists of models; comma-separated or repeatable',
    otherwise: 'none',
  },
  /** `null` ignores a projector beside the model. */
  mmproj: {
    type: 'path',
    nullable: true,
    aliases: ['-mm'],
    help: 'GGUF file of the projector for images and audio; none disables both',
    otherwise:
      'mmproj-<model>.gguf, <model>-mmproj.gguf or <model>.mmproj.gguf beside the model, or the only mmproj*.gguf of a ' +
      'folder with one model',
  },
  lora: {
    type: 'paths',
    placeholder: '[name=]file[:scale]',
    help: 'GGUF file of a LoRA adapter, which requests select as model:name; repeatable',
    otherwise: 'none',
  },
  chatTemplate: {
    ...text('jinja'),
    excludes: ['chatTemplateFile'],
    help: "Jinja chat template, or one of llama.cpp's names such as chatml, llama3, gemma or mistral-v7",
    otherwise: OWN_TEMPLATE,
  },
  chatTemplateFile: {
    type: 'path',
    excludes: ['chatTemplate'],
    help: 'File with a Jinja chat template',
    otherwise: OWN_TEMPLATE,
  },
  chatTemplateKwargs: {
    ...text('json'),
    help: 'JSON object with default values of template variables; requests override it',
    otherwise: 'none',
  },
  specialTokensInMessages: {
    ...off,
    help: 'Parse control tokens in the text of messages, tools and documents, which are plain text otherwise',
  },
  reasoning: {
    ...choice('auto', 'on', 'off'),
    default: 'auto',
    aliases: ['-rea'],
    placeholder: 'mode',
    help: 'Turn reasoning on or off, if the template supports it; requests override it',
  },
  reasoningBudget: {
    ...integer(-1),
    unit: 'tokens',
    default: -1,
    help:
      'Limit for each block of reasoning, if the template marks reasoning with tags; 0 disables reasoning, -1 is ' +
      'unlimited; requests override it',
  },
  reasoningBudgetMessage: {
    type: 'string',
    help: 'Text inserted when `reasoningBudget` ends the reasoning; requests override it',
    otherwise: 'none',
  },
  pooling: {
    ...choice('none', 'mean', 'cls', 'last', 'rank'),
    placeholder: 'method',
    help:
      'Pooling method for embeddings; use rank for rerankers that do not declare it; none returns one vector for each ' +
      'token, at /embedding only',
    otherwise: 'declared by the model, or mean',
  },
} as const satisfies UngroupedRows);

const LOADING_OPTIONS = inGroup(LOADING, {
  mmap: {
    ...on,
    help: 'Map the model file into memory; without it, loading is slower',
    otherwise: 'on, if the devices support it',
  },
  mlock: { ...off, help: 'Lock the model in memory, so that it is never swapped out' },
  repack: {
    ...on,
    noAliases: ['-nr'],
    help: "Repack weights into the CPU's fastest layout",
    otherwise: 'on',
  },
  numa: {
    ...choice('distribute', 'isolate', 'numactl'),
    placeholder: 'policy',
    help: 'Thread placement on NUMA machines; the first model of a process decides',
    otherwise: 'off',
  },
  overrideKv: {
    type: 'texts',
    max: 64,
    maxLength: 300,
    // llama.cpp stores keys and strings of up to 127 bytes.
    pattern: /^[\w.-]{1,127}=(int:-?\d{1,18}|float:-?\d*\.?\d+(e-?\d{1,3})?|bool:(true|false)|str:[\x20-\x7e]{1,127})$/,
    says: 'key=int:1, key=float:0.5, key=bool:true or key=str:text',
    placeholder: 'key=type:value',
    help: 'Override a metadata value of the model file; repeatable',
    otherwise: 'none',
  },
} as const satisfies UngroupedRows);

export const MODEL_OPTIONS = {
  ...MODEL_GROUP_OPTIONS,
  ...LOADING_OPTIONS,
} as const satisfies OptionRows;
