/** What makes one hosting mode differ from another. Data only: the same app, routes and schemas serve all of them. */
import type { SamplingSettings } from '../engine/job.js';
import type { ChatParameter } from '../schemas/chat-completion.js';

export interface Profile {
  mode: 'runtime' | 'desktop' | 'serverless';
  /** Where it listens unless told otherwise. */
  host: string;
  port: number;
  /** What stands before `/v1`; the server is told its organisation and its app when it starts. */
  basePath: '' | '/<org_id>/<app_id>';
  /** Whether a request must come with `Authorization: Key <API_KEY>`, unless the deployment is a public one. */
  authentication: 'none' | 'key';
  /** Whether a request must name the model that is served; if not, any name will do. */
  checksModelName: boolean;
  /** Whether a body must come as `application/json`; if not, any body is read as JSON. */
  demandsJsonContentType: boolean;
  /** The request fields that this mode obeys. Others are ignored and named in a header, or refused where that is asked for. */
  parameters: readonly ChatParameter[];
  /** What a request leaves open. */
  sampling: Readonly<SamplingSettings>;
  /** How high a request may put its own priority: who is ahead of others takes their places. Any may be lower. */
  maxPriority: number;
  /** The largest body, in bytes. */
  bodyLimit: number;
  /** Pages of which origins a browser lets use the server; `local` stands for pages that come from this machine. */
  corsOrigins: readonly string[];
  /**
   * Whether the Host header must be a name that this server goes by. A page can have its own name lead to 127.0.0.1 (DNS
   * rebinding), and is then of the same origin as a server that takes any name.
   */
  checksHostHeader: boolean;
  /** Whether images may be fetched from servers of this machine. */
  allowsLoopbackImageHosts: boolean;
}

/** What the specification gives to every mode. */
export const COMMON_PARAMETERS: readonly ChatParameter[] = [
  'model',
  'messages',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'max_tokens',
];

/** What every mode obeys besides. */
export const EXTENSIONS: readonly ChatParameter[] = [
  'stream_options',
  'presence_penalty',
  'frequency_penalty',
  'max_completion_tokens',
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
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'grammar',
  'reasoning_effort',
  'chat_template_kwargs',
  'timings',
];
