/** What makes one hosting mode differ from another. Data only: the same app, routes and schemas serve all of them. */
import type { SamplingSettings } from '../engine/job.js';
import type { ChatParameter } from '../schemas/chat-completion.js';

export interface Profile {
  mode: 'runtime' | 'desktop' | 'serverless';
  /** Where it listens unless told otherwise. */
  host: string;
  port: number;
  /** What a request leaves open. */
  sampling: Readonly<SamplingSettings>;
  /** The request fields that this mode obeys. Others are ignored and named in a header, or refused with `--strict`. */
  parameters: readonly ChatParameter[];
  /** Whether a request must name the model that is served; if not, any name will do. */
  checksModelName: boolean;
  /** Whether a body must come as `application/json`; if not, any body is read as JSON. */
  demandsJsonContentType: boolean;
}

/** What every mode obeys. */
export const COMMON_PARAMETERS: readonly ChatParameter[] = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'top_k',
  'presence_penalty',
  'frequency_penalty',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'seed',
  'n',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'ignore_eos',
  'cache_prompt',
  'priority',
  'response_format',
  'tools',
  'functions',
];
