/** Options of the cloud commands. Flags and help derive from these rows. */
import { QUOTA_PATTERN } from '../../cloud/apps/quotas.js';
import { MAX_COUNT, type OptionRows } from '../../options/option-row.js';
import { HOSTING_OPTIONS } from '../options/hosting-option-table.js';
import { KUBERNETES_OPTIONS, WEIGHTS_OPTION } from './kubernetes-option-table.js';

const GROUP = 'Options';
const count = (min: number) => ({ type: 'integer', min, max: MAX_COUNT, group: GROUP }) as const;

export const JSON_OPTION = {
  json: { type: 'boolean', default: false, flag: '--json', group: GROUP, help: 'Print JSON' },
} as const satisfies OptionRows;

export const ORG_OPTION = {
  org: {
    type: 'string',
    flag: '--org',
    placeholder: 'org_id',
    group: GROUP,
    help: 'Organisation of the app',
    otherwise: 'the own organisation of the cloud',
  },
} as const satisfies OptionRows;

export const DATA_DIR_OPTION = {
  dataDir: { ...HOSTING_OPTIONS.dataDir, group: GROUP },
} as const satisfies OptionRows;

const AUTH = { ...HOSTING_OPTIONS.auth, group: GROUP, otherwise: 'the value in the script, or private' } as const;

const ISOLATION_OPTIONS = {
  isolation: {
    type: 'choice',
    choices: ['process', 'podman'],
    default: 'process',
    flag: '--isolation',
    placeholder: 'kind',
    group: GROUP,
    help: 'Run each runner as a process of this account, or in its own Podman container',
  },
  runnerImage: {
    type: 'string',
    flag: '--runner-image',
    placeholder: 'reference',
    group: GROUP,
    help: 'Container image of chasqui for --isolation podman; it must exist locally',
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
    help: 'URL at which clients reach the cloud',
    otherwise: 'derived from host and port',
  },
  host: {
    ...HOSTING_OPTIONS.host,
    group: GROUP,
    help: 'Address to listen on; 0.0.0.0 listens on all interfaces',
    otherwise: '127.0.0.1',
  },
  port: { ...HOSTING_OPTIONS.port, group: GROUP, otherwise: '8088' },
  runnersMemory: {
    ...count(1),
    unit: 'MiB',
    flag: '--runners-memory',
    help: 'Memory limit for all runners',
    otherwise: '80 % of the memory that is free at startup',
  },
  orgQuota: {
    type: 'texts',
    max: 1000,
    maxLength: 130,
    pattern: QUOTA_PATTERN,
    says: 'apps=5, runners=8 or memory=16384 (MiB), for one organisation acme:apps=5',
    flag: '--org-quota',
    placeholder: '[org:]name=value',
    group: GROUP,
    help: 'Quota of each organisation, or of one: apps, runners, or MiB of memory for its runners; repeatable',
    otherwise: 'unlimited',
  },
  uploadsLimit: {
    ...count(1),
    unit: 'MiB',
    flag: '--uploads-limit',
    help: 'Disk limit for uploaded models; the least recently used ones are deleted first',
    otherwise: 'half of the disk',
  },
  allowPrivateModelHosts: {
    type: 'boolean',
    default: false,
    flag: '--allow-private-model-hosts',
    group: GROUP,
    help: 'Let deployments by API key fetch models from any address, including private networks',
  },
  allowLoopbackWebhooks: {
    type: 'boolean',
    default: false,
    flag: '--allow-loopback-webhooks',
    group: GROUP,
    help: 'Let webhooks of the queue call this machine, also without TLS',
  },
  tlsCert: {
    type: 'path',
    flag: '--tls-cert',
    group: GROUP,
    help: 'PEM file with the TLS certificate; reloaded when it changes',
    otherwise: 'plain HTTP',
  },
  tlsKey: {
    type: 'path',
    flag: '--tls-key',
    group: GROUP,
    help: 'PEM file with the private key of the certificate',
    otherwise: 'none',
  },
  trustProxy: {
    type: 'boolean',
    default: false,
    flag: '--trust-proxy',
    group: GROUP,
    help: 'Trust a reverse proxy that terminates TLS',
  },
  insecure: {
    type: 'boolean',
    default: false,
    flag: '--insecure',
    group: GROUP,
    help: 'Allow other machines to connect without TLS',
  },
  keepRunners: {
    type: 'boolean',
    default: false,
    flag: '--keep-runners',
    group: GROUP,
    help: 'Keep runners running when the cloud stops; the next start adopts them',
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
    help: 'Name of the app; its address ends in /<org_id>/<app_id>',
    otherwise: 'the name of the export',
  },
  auth: AUTH,
  strategy: {
    type: 'choice',
    choices: ['rolling', 'recreate'],
    default: 'rolling',
    flag: '--strategy',
    placeholder: 'name',
    group: GROUP,
    help: 'rolling stops the old runners once a new one is ready; recreate stops them first, which needs less memory',
  },
  detach: {
    type: 'boolean',
    default: false,
    flag: '--detach',
    group: GROUP,
    help: 'Return before the revision is ready; requests reach it only once it is',
  },
  check: {
    type: 'boolean',
    default: false,
    flag: '--check',
    group: GROUP,
    help: 'Show what would change without deploying',
  },
  message: {
    type: 'string',
    flag: '--message',
    placeholder: 'text',
    group: GROUP,
    help: 'Description of the revision in lists',
    otherwise: 'none',
  },
  ...DATA_DIR_OPTION,
  ...JSON_OPTION,
} as const satisfies OptionRows;

export const RUN_OPTIONS = {
  appName: DEPLOY_OPTIONS.appName,
  auth: AUTH,
  port: { ...HOSTING_OPTIONS.port, group: GROUP, otherwise: 'a free port' },
  ...ISOLATION_OPTIONS,
  ...DATA_DIR_OPTION,
  ...JSON_OPTION,
} as const satisfies OptionRows;

/** Options of all commands that access a deployment. */
export const COMMON_OPTIONS = { ...ORG_OPTION, ...DATA_DIR_OPTION, ...JSON_OPTION } as const satisfies OptionRows;

export const SCALE_OPTIONS = {
  min: { ...count(0), flag: '--min', help: 'Minimum number of runners, kept without requests', otherwise: 'unchanged' },
  max: { ...count(1), flag: '--max', help: 'Maximum number of runners', otherwise: 'unchanged' },
  reset: { type: 'boolean', default: false, flag: '--reset', group: GROUP, help: 'Return to the values in the script' },
} as const satisfies OptionRows;

export const ROLLBACK_OPTIONS = {
  to: {
    ...count(1),
    flag: '--to',
    placeholder: 'revision',
    help: 'Revision to return to',
    otherwise: 'the previous one',
  },
} as const satisfies OptionRows;

export const FOLLOW_OPTION = {
  follow: {
    type: 'boolean',
    default: false,
    flag: '--follow',
    short: '-f',
    group: GROUP,
    help: 'Keep printing until Ctrl-C',
  },
} as const satisfies OptionRows;

export const KEY_OPTION = {
  key: {
    type: 'string',
    flag: '--key',
    placeholder: 'api_key',
    group: GROUP,
    help: 'API key with the scopes deploy and read',
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
