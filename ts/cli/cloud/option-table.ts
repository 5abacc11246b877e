/** Options of the cloud commands. Flags and help derive from these rows. */
import { QUOTA_PATTERN } from '../../cloud/apps/quotas.js';
import { ROLE_NAMES } from '../../keys/key-settings.js';
import { choice, inGroup, integer, type OptionRows, off, text, type UngroupedRows } from '../../options/option-row.js';
import { HOSTING_OPTIONS } from '../options/hosting-option-table.js';
import { KUBERNETES_OPTIONS, WEIGHTS_OPTION } from './kubernetes-option-table.js';

const GROUP = 'Options';
const DOMAIN = /^[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)+$/u;

export const JSON_OPTION = inGroup(GROUP, {
  json: { ...off, help: 'Print JSON' },
} as const satisfies UngroupedRows);

export const ORG_OPTION = inGroup(GROUP, {
  org: { ...text('org_id'), help: 'Organisation of the app', otherwise: 'the own organisation of the cloud' },
} as const satisfies UngroupedRows);

export const DATA_DIR_OPTION = inGroup(GROUP, {
  dataDir: HOSTING_OPTIONS.dataDir,
} as const satisfies UngroupedRows);

const AUTH = { ...HOSTING_OPTIONS.auth, otherwise: 'the value in the script, or private' } as const;

const ISOLATION_OPTIONS = inGroup(GROUP, {
  isolation: {
    ...choice('process', 'podman'),
    default: 'process',
    placeholder: 'kind',
    help: 'Run each runner as a process of this account, or in its own Podman container',
  },
  runnerImage: {
    ...text('reference'),
    help: 'Container image of chasqui for --isolation podman; it must exist locally',
    otherwise: 'localhost/chasqui',
  },
} as const satisfies UngroupedRows);

export const CLOUD_START_OPTIONS = inGroup(GROUP, {
  ...DATA_DIR_OPTION,
  publicUrl: { ...text('url'), help: 'URL at which clients reach the cloud', otherwise: 'derived from host and port' },
  host: {
    ...HOSTING_OPTIONS.host,
    help: 'Address to listen on; 0.0.0.0 listens on all interfaces',
    otherwise: '127.0.0.1',
  },
  port: { ...HOSTING_OPTIONS.port, otherwise: '8088' },
  runnersMemory: {
    ...integer(1),
    unit: 'MiB',
    help: 'Memory limit for all runners',
    otherwise: '80 % of the memory that is free at startup',
  },
  orgQuota: {
    type: 'texts',
    max: 1000,
    maxLength: 130,
    pattern: QUOTA_PATTERN,
    says: 'apps=5, runners=8, memory=16384 or uploads=65536 (MiB), for one organisation acme:apps=5',
    placeholder: '[org:]name=value',
    help: 'Quota of each organisation, or of one: apps, runners, MiB of memory for runners or of uploads; repeatable',
    otherwise: 'unlimited',
  },
  uploadsLimit: {
    ...integer(1),
    unit: 'MiB',
    help: 'Disk limit for uploaded models; the least recently used ones are deleted first',
    otherwise: 'half of the disk',
  },
  allowPrivateModelHosts: {
    ...off,
    help: 'Let deployments by API key fetch models from any address, including private networks',
  },
  allowLoopbackWebhooks: { ...off, help: 'Let webhooks call this machine, also without TLS' },
  oidcIssuer: {
    ...text('url'),
    help: 'OpenID Connect provider: invited users sign in to the pages with their verified e-mail address',
    otherwise: 'passwords only',
  },
  oidcClientId: { ...text('id'), help: 'Client id at the provider', otherwise: 'none' },
  oidcSecretFile: {
    type: 'path',
    help: 'File with the client secret; CHASQUI_OIDC_SECRET may hold the secret itself',
    otherwise: 'a public client',
  },
  oidcDomain: {
    type: 'texts',
    max: 100,
    maxLength: 253,
    pattern: DOMAIN,
    says: 'a domain such as example.com',
    placeholder: 'domain',
    help: 'Accept only e-mail addresses of this domain; repeatable',
    otherwise: 'all domains',
  },
  smtpUrl: {
    ...text('url'),
    help: 'Mail server for alerts: smtp://user@host:587 (STARTTLS) or smtps://user@host',
    otherwise: 'no e-mails',
  },
  smtpPasswordFile: {
    type: 'path',
    help: 'File with the password of the mail server; CHASQUI_SMTP_PASSWORD may hold the password itself',
    otherwise: 'none',
  },
  smtpCa: {
    type: 'path',
    help: 'PEM file with the certificate authority of the mail server',
    otherwise: 'the well-known ones',
  },
  mailFrom: { ...text('address'), help: 'Sender of e-mails', otherwise: 'none; required with a mail server' },
  tlsCert: {
    type: 'path',
    help: 'PEM file with the TLS certificate; reloaded when it changes',
    otherwise: 'plain HTTP',
  },
  tlsKey: { type: 'path', help: 'PEM file with the private key of the certificate', otherwise: 'none' },
  trustProxy: { ...off, help: 'Trust a reverse proxy that terminates TLS' },
  insecure: { ...off, help: 'Allow other machines to connect without TLS' },
  keepRunners: { ...off, help: 'Keep runners running when the cloud stops; the next start adopts them' },
  ...ISOLATION_OPTIONS,
  shutdownTimeout: { ...HOSTING_OPTIONS.shutdownTimeout },
} as const satisfies UngroupedRows);

export const DEPLOY_OPTIONS = inGroup(GROUP, {
  ...ORG_OPTION,
  appName: {
    ...text('app_id'),
    help: 'Name of the app; its address ends in /<org_id>/<app_id>',
    otherwise: 'the name of the export',
  },
  auth: AUTH,
  strategy: {
    ...choice('rolling', 'recreate'),
    default: 'rolling',
    placeholder: 'name',
    help: 'rolling stops the old runners once a new one is ready; recreate stops them first, which needs less memory',
  },
  detach: { ...off, help: 'Return before the revision is ready; requests reach it only once it is' },
  check: { ...off, help: 'Show what would change without deploying' },
  message: { type: 'string', help: 'Description of the revision in lists', otherwise: 'none' },
  ...DATA_DIR_OPTION,
  ...JSON_OPTION,
} as const satisfies UngroupedRows);

export const RUN_OPTIONS = inGroup(GROUP, {
  appName: DEPLOY_OPTIONS.appName,
  auth: AUTH,
  port: { ...HOSTING_OPTIONS.port, otherwise: 'a free port' },
  ...ISOLATION_OPTIONS,
  ...DATA_DIR_OPTION,
  ...JSON_OPTION,
} as const satisfies UngroupedRows);

/** Options of all commands that access a deployment. */
export const COMMON_OPTIONS = { ...ORG_OPTION, ...DATA_DIR_OPTION, ...JSON_OPTION } as const satisfies OptionRows;

export const SCALE_OPTIONS = inGroup(GROUP, {
  min: { ...integer(0), help: 'Minimum number of runners, kept without requests', otherwise: 'unchanged' },
  max: { ...integer(1), help: 'Maximum number of runners', otherwise: 'unchanged' },
  reset: { ...off, help: 'Return to the values in the script' },
} as const satisfies UngroupedRows);

export const ROLLBACK_OPTIONS = inGroup(GROUP, {
  to: {
    ...integer(1),
    placeholder: 'revision',
    help: 'Revision to return to',
    otherwise: 'the previous one',
  },
} as const satisfies UngroupedRows);

export const FOLLOW_OPTION = inGroup(GROUP, {
  follow: { ...off, short: '-f', help: 'Keep printing until Ctrl-C' },
} as const satisfies UngroupedRows);

export const KEY_OPTION = inGroup(GROUP, {
  key: { ...text('api_key'), help: 'API key with the scopes deploy and read', otherwise: 'read from standard input' },
} as const satisfies UngroupedRows);

export const BUDGET_KEY_OPTION = inGroup(GROUP, {
  keyId: {
    ...text('id'),
    help: 'Budget of this key only, by the part before the colon',
    otherwise: 'the budget of the organisation',
  },
} as const satisfies UngroupedRows);

export const BUDGET_OPTIONS = inGroup(GROUP, {
  ...BUDGET_KEY_OPTION,
  tokens: { ...integer(1, 1e15), help: 'Maximum prompt and completion tokens', otherwise: 'no limit' },
  requests: { ...integer(1, 1e15), help: 'Maximum requests', otherwise: 'no limit' },
  warnPercent: { ...integer(1, 100), default: 80, help: 'Percentage at which the first alert is written' },
  webhook: {
    ...text('url'),
    help: 'URL that receives the alerts, signed with the secret WEBHOOK_KEY',
    otherwise: 'none',
  },
  email: { ...text('address'), help: 'Address that receives the alerts', otherwise: 'none' },
} as const satisfies UngroupedRows);

export const USER_OPTIONS = inGroup(GROUP, {
  role: {
    ...choice(...ROLE_NAMES),
    placeholder: 'role',
    help: 'owner (all), developer (call, deploy, read) or viewer (read)',
    otherwise: 'viewer; owner with --all-orgs',
  },
  allOrgs: { ...off, help: 'Give access to all organisations' },
} as const satisfies UngroupedRows);

export const CLOUD_OPTIONS: OptionRows = {
  ...CLOUD_START_OPTIONS,
  ...DEPLOY_OPTIONS,
  ...KUBERNETES_OPTIONS,
  ...WEIGHTS_OPTION,
  ...SCALE_OPTIONS,
  ...ROLLBACK_OPTIONS,
  ...FOLLOW_OPTION,
  ...KEY_OPTION,
  ...BUDGET_OPTIONS,
  ...USER_OPTIONS,
};
