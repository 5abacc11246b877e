/** Options of `chasqui serve` beyond those of `loadModel`: model selection and server settings. */

import { MAX_TEXT_BYTES } from '../../http/body/limits.js';
import { LOG_LEVELS } from '../../http/log-levels.js';
import { OTHER_NAMES } from '../../metrics/other-names.js';
import {
  choice,
  inGroup,
  integer,
  type OptionRows,
  type OptionsOf,
  off,
  on,
  text,
  type UngroupedRows,
} from '../../options/option-row.js';
import { desktop } from '../../profiles/desktop.js';
import { runtime } from '../../profiles/runtime.js';
import { serverless } from '../../profiles/serverless.js';
import { LOG_FORMATS } from '../output/log-output.js';
import { CALL_OPTIONS } from './call-option-table.js';
import { DEPLOYMENT_OPTIONS } from './deployment-option-table.js';

const MIB = 2 ** 20;

const MODEL_OPTIONS = inGroup('Model', {
  model: {
    type: 'paths',
    short: '-m',
    excludes: ['modelUrl', 'hf', 'hfFile'],
    help: 'GGUF file to serve, or a name that chasqui ls lists; repeatable',
    otherwise: 'the built-in demo model',
  },
  modelUrl: {
    ...text('url'),
    excludes: ['model', 'hf', 'hfFile'],
    help: 'URL of a GGUF file to download to the data folder and serve',
    otherwise: 'none',
  },
  hf: {
    ...text('user/repo[:quant]'),
    aliases: ['-hf', '--hf-repo'],
    excludes: ['model', 'modelUrl'],
    help: '-hf: Hugging Face model to serve; downloaded if it is not on this computer',
    otherwise: 'none',
  },
  hfFile: {
    ...text('file'),
    aliases: ['-hff'],
    excludes: ['model', 'modelUrl'],
    help: 'File in the repository of -hf, instead of a quantization',
    otherwise: 'none',
  },
  offline: {
    ...off,
    excludes: ['allowDownloads'],
    help: 'Download nothing: the models of -hf and --model-url must be on this computer',
  },
} as const satisfies UngroupedRows);

const POOL_OPTIONS = inGroup('Several models', {
  modelsDir: {
    type: 'path',
    help: 'Folder of GGUF files to serve; each is loaded on its first request',
    otherwise: 'none',
  },
  modelsHub: {
    ...off,
    help: 'Serve the models that chasqui ls lists, under the same names; each is loaded on its first request',
  },
  allowDownloads: {
    ...off,
    excludes: ['offline'],
    help: 'Let clients download models from the hub and delete them; includes `modelsHub`, even without any model',
  },
  modelsPreset: {
    type: 'path',
    help:
      'INI file with one section of options per model, in the format of llama-server; [*] sets the defaults; command-line ' +
      'options take precedence',
    otherwise: 'none',
  },
  modelsMemory: {
    ...integer(1),
    unit: 'MiB',
    help: 'Memory limit for all loaded models; a larger model is loaded alone',
    otherwise: '80 % of the memory that is free at startup, and of GPU memory',
  },
  modelsMax: {
    ...integer(1),
    unset: '0',
    help: 'Maximum number of loaded models, within the memory limit',
    otherwise: 'as many as fit',
  },
  autoload: {
    ...on,
    aliases: ['--models-autoload'],
    noAliases: ['--no-models-autoload'],
    help: 'Load a model when a request names it; --no-autoload rejects the request',
    otherwise: 'on',
  },
  loadTimeout: {
    ...integer(1, 1_000_000),
    unit: 's',
    default: 600,
    help: 'Time limit for a request to wait until its model is loaded',
  },
  ttl: {
    ...integer(0, 1_000_000),
    unit: 's',
    default: 0,
    aliases: ['--sleep-idle-seconds'],
    unset: '-1',
    help: 'Unload a model after this many idle seconds; 0 keeps it loaded',
  },
  pin: {
    type: 'names',
    placeholder: 'ids',
    help: 'Models to load at startup and never evict; comma-separated or repeatable',
    otherwise: 'none',
  },
} as const satisfies UngroupedRows);

const SERVER_OPTIONS = inGroup('Server', {
  mode: {
    ...choice('runtime', 'desktop', 'serverless'),
    default: 'runtime',
    placeholder: 'mode',
    help: 'API conventions to follow',
  },
  host: {
    ...text('address'),
    excludes: ['socket'],
    help: 'Address to listen on, or several, comma-separated; 0.0.0.0 listens on all interfaces',
    otherwise: runtime.host,
  },
  port: {
    ...integer(0, 65_535),
    short: '-p',
    excludes: ['socket'],
    // For a service named `chasqui`, Kubernetes sets CHASQUI_PORT to an address like this in all pods of the namespace.
    foreign: /^(tcp|udp|sctp):\/\//,
    help: 'Port to listen on; 0 picks a free port',
    otherwise: `${runtime.port}, or ${desktop.port} in desktop mode`,
  },
  socket: {
    type: 'path',
    excludes: ['host', 'port'],
    help: 'Unix socket to listen on instead of an address, accessible to this account only; same as --host unix:<path>',
    otherwise: 'none',
  },
  apiKey: {
    type: 'names',
    placeholder: 'keys',
    help:
      'Accepted API keys, sent as Authorization: Bearer or X-Api-Key; comma-separated or repeatable; other accounts of ' +
      'this machine can read a command line, but not CHASQUI_API_KEY',
    otherwise: 'no key is required',
  },
  apiKeyFile: { type: 'path', help: 'File with API keys, one per line; read at startup', otherwise: 'none' },
  tlsCert: {
    type: 'path',
    aliases: ['--ssl-cert-file'],
    help: 'PEM file with the TLS certificate and its intermediate certificates; reloaded within seconds of a change',
    otherwise: 'none: plain HTTP',
  },
  tlsKey: {
    type: 'path',
    aliases: ['--ssl-key-file'],
    help: 'PEM file with the private key of the certificate',
    otherwise: 'none',
  },
  dataDir: {
    type: 'path',
    variable: 'CHASQUI_HOME',
    help: 'Data folder: API keys, downloaded models, conversations',
    otherwise: '~/.chasqui',
  },
  mcpConfig: {
    type: 'path',
    aliases: ['--mcp-servers-config'],
    help: 'JSON file of MCP servers, in the format of Claude and llama-server; requests may use their tools',
    otherwise: 'none',
  },
  mcpServersJson: {
    type: 'string',
    flag: '--mcp-servers-json',
    placeholder: 'json',
    help: 'MCP servers as JSON text in the same format, also beside `mcpConfig`',
    otherwise: 'none',
  },
  strict: {
    ...off,
    help: 'Reject requests with unknown fields',
    otherwise: 'ignore them and list them in a response header',
  },
  webui: {
    ...on,
    aliases: ['--ui'],
    noAliases: ['--no-ui'],
    help: 'Web page with a chat at /, for browsers',
    otherwise: 'on; never in serverless mode',
  },
  slots: { ...on, help: 'Serve GET /slots, which shows the state of slots without prompts', otherwise: 'on' },
  maxPriority: {
    ...integer(0),
    default: runtime.maxPriority,
    help: 'Highest priority that a request may set; higher priorities preempt lower ones',
  },
  nPredict: {
    ...integer(1),
    unit: 'tokens',
    short: '-n',
    aliases: ['--predict'],
    unset: '-1',
    help: 'Maximum length of completions without a limit in the request',
    otherwise: 'the rest of the context',
  },
  bodyLimit: {
    ...integer(1),
    unit: 'MiB',
    help: `Size limit for a request body with images; without images, at most ${MAX_TEXT_BYTES / MIB}`,
    otherwise: `${runtime.bodyLimit / MIB}, or ${serverless.bodyLimit / MIB} in serverless mode`,
  },
  stallTimeout: {
    // Must fit into a millisecond timer.
    ...integer(0, 1_000_000),
    unit: 's',
    default: 600,
    help: 'Disconnect a client that has not read from its stream for this long; 0 never does',
  },
  engine: {
    ...choice('child', 'in-process'),
    default: 'child',
    placeholder: 'home',
    help: 'Run the engine in a child process, which is restarted after a crash, or in the server process',
  },
  stepTimeout: {
    ...integer(0, 1_000_000),
    unit: 's',
    default: 60,
    help: 'Time limit for one engine step; beyond it, the engine process is restarted; 0 is unlimited',
  },
  coreDumps: { ...off, help: 'Write a core dump when the engine crashes; it contains prompts' },
  shutdownTimeout: {
    ...integer(0, 1_000_000),
    unit: 's',
    default: 25,
    help: 'Time for running requests to finish at shutdown',
  },
} as const satisfies UngroupedRows);

const WATCHING_OPTIONS = inGroup('Watching', {
  metricsNames: {
    type: 'names',
    each: { pattern: new RegExp(`^(${OTHER_NAMES.join('|')})$`), says: OTHER_NAMES.join(' or ') },
    placeholder: 'servers',
    help: `Also export /metrics under the names of other servers: ${OTHER_NAMES.join(', ')}`,
    otherwise: 'none',
  },
  llamacppMetrics: {
    type: 'boolean',
    default: false,
    flag: '--metrics',
    help: 'Same as --metrics-names llamacpp',
  },
  logFormat: {
    ...choice(...LOG_FORMATS),
    default: 'auto',
    placeholder: 'format',
    help: 'Format of the log on standard error; auto is text on a terminal, otherwise JSON',
  },
  logLevel: {
    ...choice(...LOG_LEVELS),
    default: 'info',
    placeholder: 'level',
    help: 'Minimum level of log lines; debug adds probes and scrapes, warn logs only server failures',
  },
  logPrompts: { ...off, help: 'Log the beginning of each prompt', otherwise: 'never' },
} as const satisfies UngroupedRows);

const MORE_SERVER_OPTIONS = inGroup('Server', {
  corsOrigins: {
    type: 'names',
    each: {
      pattern: /^(?:\*|local|localhost|none|null|[a-z][a-z0-9+.-]*:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)$/,
      says: 'origins (scheme://host or scheme://host:port, in lower case, without a path; local, *, null or none)',
    },
    flag: '--cors-origin',
    aliases: ['--cors-origins'],
    placeholder: 'origins',
    help: 'Allowed CORS origins, such as https://chat.example; or local, * or none; comma-separated or repeatable',
    otherwise: 'local, or none in serverless mode',
  },
  allowedHosts: {
    type: 'names',
    flag: '--allowed-host',
    help: 'Host names accepted in addition to localhost and IP addresses; * accepts any; comma-separated or repeatable',
    otherwise: 'the name in `host`',
  },
  allowPrivateImageHosts: {
    ...off,
    help: 'Allow images from any address, including private networks',
    otherwise: 'public addresses; in the local modes also this machine, unless `host` exposes the server to others',
  },
} as const satisfies UngroupedRows);

export const HOSTING_OPTIONS = {
  ...MODEL_OPTIONS,
  ...POOL_OPTIONS,
  ...SERVER_OPTIONS,
  ...WATCHING_OPTIONS,
  ...MORE_SERVER_OPTIONS,
  ...CALL_OPTIONS,
  ...DEPLOYMENT_OPTIONS,
} as const satisfies OptionRows;

export interface HostingOptions extends OptionsOf<typeof HOSTING_OPTIONS> {}

/** `--data-dir` of the model commands, in the same help group as their other options. */
export const DATA_DIR = { dataDir: { ...HOSTING_OPTIONS.dataDir, group: 'Options' } };
