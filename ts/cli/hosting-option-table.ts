/** What `chasqui serve` needs to know beside the options of `loadModel`: which model, and how its server is hosted. */
import { MAX_COUNT, type OptionRows, type OptionsOf } from '../engine/option-row.js';
import { MAX_TEXT_BYTES } from '../http/body/limits.js';
import { LOG_LEVELS } from '../http/request-log.js';
import { OTHER_NAMES } from '../metrics/other-names.js';
import { desktop } from '../profiles/desktop.js';
import { runtime } from '../profiles/runtime.js';
import { serverless } from '../profiles/serverless.js';
import { LOG_FORMATS } from './log-output.js';

const MIB = 2 ** 20;

export const HOSTING_OPTIONS = {
  model: {
    type: 'path',
    flag: '--model',
    short: '-m',
    excludes: 'modelUrl',
    group: 'Model',
    help: 'GGUF file to serve',
    otherwise: 'the built-in demo model',
  },
  modelUrl: {
    type: 'string',
    flag: '--model-url',
    excludes: 'model',
    placeholder: 'url',
    group: 'Model',
    help: 'GGUF file to fetch and serve; kept in the data folder',
    otherwise: 'none',
  },
  mode: {
    type: 'choice',
    choices: ['runtime', 'desktop', 'serverless'],
    default: 'runtime',
    flag: '--mode',
    placeholder: 'mode',
    group: 'Server',
    help: 'which conventions to follow',
  },
  host: {
    type: 'string',
    flag: '--host',
    placeholder: 'address',
    group: 'Server',
    help: 'address to listen at; 0.0.0.0 for all of this machine',
    otherwise: runtime.host,
  },
  port: {
    type: 'integer',
    min: 0,
    max: 65_535,
    flag: '--port',
    short: '-p',
    // Kubernetes sets CHASQUI_PORT to such an address in every pod beside a service that is called `chasqui`.
    foreign: /^(tcp|udp|sctp):\/\//,
    group: 'Server',
    help: 'port to listen at; 0 for any free one',
    otherwise: `${runtime.port}, or ${desktop.port} in desktop mode`,
  },
  dataDir: {
    type: 'path',
    flag: '--data-dir',
    variable: 'CHASQUI_HOME',
    group: 'Server',
    help: 'folder of what chasqui keeps: API keys, models that were fetched',
    otherwise: '~/.chasqui',
  },
  strict: {
    type: 'boolean',
    default: false,
    flag: '--strict',
    group: 'Server',
    help: 'refuse request fields that are not known',
    otherwise: 'ignore them, and say so in a header',
  },
  maxPriority: {
    type: 'integer',
    min: 0,
    max: MAX_COUNT,
    default: runtime.maxPriority,
    flag: '--max-priority',
    group: 'Server',
    help: 'how high requests may put their priority; the higher ones take the places of others',
  },
  bodyLimit: {
    type: 'integer',
    min: 1,
    max: MAX_COUNT,
    unit: 'MiB',
    flag: '--body-limit',
    group: 'Server',
    help: `largest request body, images included; without them ${MAX_TEXT_BYTES / MIB} at most`,
    otherwise: `${runtime.bodyLimit / MIB}, or ${serverless.bodyLimit / MIB} in serverless mode`,
  },
  stallTimeout: {
    type: 'integer',
    min: 0,
    // As many as fit into a timer of milliseconds.
    max: 1_000_000,
    unit: 's',
    default: 600,
    flag: '--stall-timeout',
    group: 'Server',
    help: 'how long a client may leave its stream unread before it is cut off; 0: for ever',
  },
  engine: {
    type: 'choice',
    choices: ['child', 'in-process'],
    default: 'child',
    flag: '--engine',
    placeholder: 'home',
    group: 'Server',
    help: 'where to compute: in a child process, which is started again when it ends, or in the process that serves',
  },
  stepTimeout: {
    type: 'integer',
    min: 0,
    max: 1_000_000,
    unit: 's',
    default: 60,
    flag: '--step-timeout',
    group: 'Server',
    help: 'how long a step of the engine may take before its process is ended and started again; 0: for ever',
  },
  coreDumps: {
    type: 'boolean',
    default: false,
    flag: '--core-dumps',
    group: 'Server',
    help: 'let an engine that ends through an error of its own leave a core file, which holds prompts',
    otherwise: 'none is left',
  },
  shutdownTimeout: {
    type: 'integer',
    min: 0,
    max: 1_000_000,
    unit: 's',
    default: 25,
    flag: '--shutdown-timeout',
    group: 'Server',
    help: 'how long running requests may go on when the server is stopped',
  },
  metricsNames: {
    type: 'names',
    each: { pattern: new RegExp(`^(${OTHER_NAMES.join('|')})$`), says: OTHER_NAMES.join(' or ') },
    flag: '--metrics-names',
    placeholder: 'servers',
    group: 'Watching',
    help: `adds the names that metrics have in other servers to /metrics: ${OTHER_NAMES.join(', ')}`,
    otherwise: 'none',
  },
  logFormat: {
    type: 'choice',
    choices: LOG_FORMATS,
    default: 'auto',
    flag: '--log-format',
    placeholder: 'format',
    group: 'Watching',
    help: 'format of the log on standard error; auto: text on a terminal, else JSON',
  },
  logLevel: {
    type: 'choice',
    choices: LOG_LEVELS,
    default: 'info',
    flag: '--log-level',
    placeholder: 'level',
    group: 'Watching',
    help: 'what is logged; debug adds probes and scrapes, warn leaves failures of the server',
  },
  logPrompts: {
    type: 'boolean',
    default: false,
    flag: '--log-prompts',
    group: 'Watching',
    help: 'add the beginnings of prompts to the log',
    otherwise: 'never',
  },
  corsOrigins: {
    type: 'names',
    each: {
      pattern: /^(?:\*|local|none|null|[a-z][a-z0-9+.-]*:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)$/,
      says: 'origins (scheme://host or scheme://host:port, in lower case, without a path; local, *, null or none)',
    },
    flag: '--cors-origin',
    placeholder: 'origins',
    group: 'Server',
    help:
      'origins whose pages may use the server, such as https://chat.example; local, * or none; separated by commas, or ' +
      'given several times',
    otherwise: 'local, or none in serverless mode',
  },
  allowedHosts: {
    type: 'names',
    flag: '--allowed-host',
    group: 'Server',
    help:
      'names that the server goes by beside localhost and addresses; * for any; separated by commas, or given several ' +
      'times',
    otherwise: 'what `host` says',
  },
  allowPrivateImageHosts: {
    type: 'boolean',
    default: false,
    flag: '--allow-private-image-hosts',
    group: 'Server',
    help: 'fetch images from any address, those of private networks included',
    otherwise: 'from public ones, and in the local modes from this machine, unless `host` opens the server to others',
  },
  org: {
    type: 'string',
    flag: '--org',
    placeholder: 'org_id',
    group: 'Serverless mode',
    help: 'the organisation that the app belongs to',
    otherwise: 'none; it must be given',
  },
  app: {
    type: 'string',
    flag: '--app',
    placeholder: 'app_id',
    group: 'Serverless mode',
    help: 'the app; its address ends in /<org_id>/<app_id>',
    otherwise: 'none; it must be given',
  },
  auth: {
    type: 'choice',
    choices: ['private', 'public'],
    flag: '--auth',
    placeholder: 'who',
    group: 'Serverless mode',
    help: 'whether an API key is needed, see chasqui keys',
    otherwise: 'private',
  },
} as const satisfies OptionRows;

export interface HostingOptions extends OptionsOf<typeof HOSTING_OPTIONS> {}
