/** The options of the commands of a cloud. Their flags and their help come from these rows. */
import { MAX_COUNT, type OptionRows } from '../../options/option-row.js';
import { HOSTING_OPTIONS } from '../hosting-option-table.js';
import { KUBERNETES_OPTIONS, WEIGHTS_OPTION } from './kubernetes-option-table.js';

const GROUP = 'Options';
const count = (min: number) => ({ type: 'integer', min, max: MAX_COUNT, group: GROUP }) as const;

export const JSON_OPTION = {
  json: { type: 'boolean', default: false, flag: '--json', group: GROUP, help: 'print JSON, for programs' },
} as const satisfies OptionRows;

export const ORG_OPTION = {
  org: {
    type: 'string',
    flag: '--org',
    placeholder: 'org_id',
    group: GROUP,
    help: 'the organisation that the app belongs to',
    otherwise: "the cloud's own",
  },
} as const satisfies OptionRows;

export const DATA_DIR_OPTION = {
  dataDir: { ...HOSTING_OPTIONS.dataDir, group: GROUP },
} as const satisfies OptionRows;

const AUTH = { ...HOSTING_OPTIONS.auth, group: GROUP, otherwise: 'what the script says, or else private' } as const;

const ISOLATION_OPTIONS = {
  isolation: {
    type: 'choice',
    choices: ['process', 'podman'],
    default: 'process',
    flag: '--isolation',
    placeholder: 'kind',
    group: GROUP,
    help: 'what runners are: processes of this account, or each in a container of its own',
  },
  runnerImage: {
    type: 'string',
    flag: '--runner-image',
    placeholder: 'reference',
    group: GROUP,
    help: 'image of chasqui for those containers, which must be there',
    otherwise: 'localhost/chasqui',
  },
} as const satisfies OptionRows;

export const CLOUD_START_OPTIONS = {
  ...DATA_DIR_OPTION,
  publicUrl: {
    type: 'string',
    flag: '--public-url',
    placeholder: 'url',
    group: GROUP,
    help: 'where clients reach the cloud',
    otherwise: 'host and port',
  },
  host: { ...HOSTING_OPTIONS.host, group: GROUP, otherwise: '127.0.0.1' },
  port: { ...HOSTING_OPTIONS.port, group: GROUP, otherwise: '8088' },
  runnersMemory: {
    ...count(1),
    unit: 'MiB',
    flag: '--runners-memory',
    help: 'what all runners may take together',
    otherwise: '80 % of what is free at the start',
  },
  uploadsLimit: {
    ...count(1),
    unit: 'MiB',
    flag: '--uploads-limit',
    help: 'what models that are sent from elsewhere may take together; those used longest ago make way',
    otherwise: 'half of the disk',
  },
  allowPrivateModelHosts: {
    type: 'boolean',
    default: false,
    flag: '--allow-private-model-hosts',
    group: GROUP,
    help: 'fetch models of who deploys by a key from any address, those of private networks included',
  },
  tlsCert: {
    type: 'path',
    flag: '--tls-cert',
    group: GROUP,
    help: 'file of a certificate; read again when it changes',
    otherwise: 'plain HTTP',
  },
  tlsKey: { type: 'path', flag: '--tls-key', group: GROUP, help: "file of the certificate's key", otherwise: 'none' },
  trustProxy: {
    type: 'boolean',
    default: false,
    flag: '--trust-proxy',
    group: GROUP,
    help: 'a proxy in front has TLS',
  },
  insecure: {
    type: 'boolean',
    default: false,
    flag: '--insecure',
    group: GROUP,
    help: 'listen where others can reach it, without TLS',
  },
  keepRunners: {
    type: 'boolean',
    default: false,
    flag: '--keep-runners',
    group: GROUP,
    help: 'let runners go on when the cloud is stopped, for the next start to find',
  },
  ...ISOLATION_OPTIONS,
  shutdownTimeout: { ...HOSTING_OPTIONS.shutdownTimeout, group: GROUP },
} as const satisfies OptionRows;

export const DEPLOY_OPTIONS = {
  ...ORG_OPTION,
  appName: {
    type: 'string',
    flag: '--app-name',
    placeholder: 'app_id',
    group: GROUP,
    help: 'the app; its address ends in /<org_id>/<app_id>',
    otherwise: "the export's name",
  },
  auth: AUTH,
  strategy: {
    type: 'choice',
    choices: ['rolling', 'recreate'],
    default: 'rolling',
    flag: '--strategy',
    placeholder: 'name',
    group: GROUP,
    help: 'rolling: the old runners go when a new one is ready; recreate: before, where both do not fit into memory',
  },
  detach: {
    type: 'boolean',
    default: false,
    flag: '--detach',
    group: GROUP,
    help: 'return before the revision is ready; the address leads to it only when it is',
  },
  check: {
    type: 'boolean',
    default: false,
    flag: '--check',
    group: GROUP,
    help: 'show what would change, and deploy nothing',
  },
  message: {
    type: 'string',
    flag: '--message',
    placeholder: 'text',
    group: GROUP,
    help: 'what to call the revision in lists',
    otherwise: 'none',
  },
  ...DATA_DIR_OPTION,
  ...JSON_OPTION,
} as const satisfies OptionRows;

export const RUN_OPTIONS = {
  appName: DEPLOY_OPTIONS.appName,
  auth: AUTH,
  port: { ...HOSTING_OPTIONS.port, group: GROUP, otherwise: 'any free one' },
  ...ISOLATION_OPTIONS,
  ...DATA_DIR_OPTION,
  ...JSON_OPTION,
} as const satisfies OptionRows;

/** Of commands that look at something or change it. */
export const COMMON_OPTIONS = { ...ORG_OPTION, ...DATA_DIR_OPTION, ...JSON_OPTION } as const satisfies OptionRows;

export const SCALE_OPTIONS = {
  min: { ...count(0), flag: '--min', help: 'runners that are there also when nobody calls', otherwise: 'as it is' },
  max: { ...count(1), flag: '--max', help: 'runners that are there at most', otherwise: 'as it is' },
  reset: { type: 'boolean', default: false, flag: '--reset', group: GROUP, help: 'go back to what the script says' },
} as const satisfies OptionRows;

export const ROLLBACK_OPTIONS = {
  to: { ...count(1), flag: '--to', placeholder: 'revision', help: 'the revision', otherwise: 'the one before' },
} as const satisfies OptionRows;

export const FOLLOW_OPTION = {
  follow: { type: 'boolean', default: false, flag: '--follow', short: '-f', group: GROUP, help: 'go on until Ctrl-C' },
} as const satisfies OptionRows;

export const KEY_OPTION = {
  key: {
    type: 'string',
    flag: '--key',
    placeholder: 'api_key',
    group: GROUP,
    help: 'a key with the scopes deploy and read',
    otherwise: 'read from standard input',
  },
} as const satisfies OptionRows;

export const CLOUD_OPTIONS: OptionRows = {
  ...CLOUD_START_OPTIONS,
  ...DEPLOY_OPTIONS,
  ...KUBERNETES_OPTIONS,
  ...WEIGHTS_OPTION,
  ...SCALE_OPTIONS,
  ...ROLLBACK_OPTIONS,
  ...FOLLOW_OPTION,
  ...KEY_OPTION,
};
