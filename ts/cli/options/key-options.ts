/** The options of `chasqui keys`, and their conversion to key settings. */

import { invalidOptions } from '../../errors.js';
import { endOfDate, ROLE_NAMES, ROLES, SCOPES } from '../../keys/key-settings.js';
import type { NewKeySettings } from '../../keys/key-store.js';
import { inGroup, MAX_COUNT, type OptionsOf, off, text, type UngroupedRows } from '../../options/option-row.js';
import { HOSTING_OPTIONS } from './hosting-option-table.js';

const GROUP = 'Options';
/** Only the gateway of a cloud enforces limits. */
const LIMITS_GROUP = 'Limits, enforced by a cloud only, not by standalone servers or in Kubernetes';
const limit = { type: 'integer', min: 1, otherwise: 'no limit' } as const;

export const KEYS_OPTIONS = inGroup(GROUP, {
  dataDir: HOSTING_OPTIONS.dataDir,
  local: { ...off, help: 'Use the keys of this machine, even after `chasqui login`' },
  json: { ...off, help: 'Print JSON' },
} as const satisfies UngroupedRows);

export const REACH_OPTIONS = inGroup(GROUP, {
  org: { ...text('org_id'), help: 'Restrict the key to this organisation', otherwise: 'all organisations' },
  app: { ...text('app_id'), help: 'Restrict the key to this app of the organisation', otherwise: 'all apps' },
} as const satisfies UngroupedRows);

const SETTING_OPTIONS = inGroup(GROUP, {
  name: { type: 'string', help: 'Name of the key in lists' },
  scopes: {
    type: 'names',
    placeholder: 'scopes',
    help: `Permissions of the key, comma-separated: ${SCOPES.join(', ')}`,
    otherwise: 'call, or those of the role',
  },
  role: {
    type: 'choice',
    choices: ROLE_NAMES,
    placeholder: 'role',
    help: 'Permissions of a member: owner (all), developer (call, deploy, read) or viewer (read)',
    otherwise: 'none',
  },
  expires: {
    ...text('when'),
    help: 'Lifetime, such as 12h or 30d, or last day of validity, such as 2030-12-31',
    otherwise: 'never',
  },
} as const satisfies UngroupedRows);

const LIMIT_OPTIONS = inGroup(LIMITS_GROUP, {
  requestsPerMinute: { ...limit, max: MAX_COUNT, help: 'Maximum requests per minute' },
  tokensPerMinute: { ...limit, max: MAX_COUNT, help: 'Maximum prompt and completion tokens per minute' },
  concurrency: { ...limit, max: MAX_COUNT, help: 'Maximum concurrent requests' },
  maxBody: {
    ...limit,
    max: MAX_COUNT * 2 ** 20,
    unit: 'MiB',
    help: 'Maximum size of a request body',
  },
} as const satisfies UngroupedRows);

export const CREATE_OPTIONS = { ...KEYS_OPTIONS, ...REACH_OPTIONS, ...SETTING_OPTIONS, ...LIMIT_OPTIONS };

export type CreateOptions = OptionsOf<typeof CREATE_OPTIONS>;

const MIB = 2 ** 20;

/** Does not check ranges: the key store does. */
export function toKeySettings(given: CreateOptions, now = Date.now() / 1000): NewKeySettings {
  const { org = null, app = null, name = null, role, expires, maxBody } = given;
  if (role !== undefined && given.scopes !== undefined) throw invalidOptions('`role` and `scopes` exclude each other.');
  const scopes = role === undefined ? (given.scopes ?? 'call') : ROLES[role];
  const { requestsPerMinute = null, tokensPerMinute = null, concurrency = null } = given;
  return {
    org,
    app,
    name,
    scopes: (typeof scopes === 'string' ? [scopes] : scopes) as NonNullable<NewKeySettings['scopes']>,
    expiresAt: expires === undefined ? null : toExpiry(expires, now),
    limits: {
      requestsPerMinute,
      tokensPerMinute,
      concurrency,
      bodyBytes: maxBody === undefined ? null : maxBody * MIB,
    },
  };
}

const DATE_LENGTH = '2030-12-31'.length;
const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };

/** Returns Unix seconds. A date without a time expires at the end of that day in UTC. */
export function toExpiry(text: string, now: number): number | null {
  if (text === 'never') return null;
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined) return Math.floor(now) + Number(amount) * (SECONDS[unit] as number);
  const day = endOfDate(text.slice(0, DATE_LENGTH));
  const at = text.length === DATE_LENGTH ? day : Math.floor(Date.parse(text) / 1000);
  if (!Number.isNaN(day) && !Number.isNaN(at)) return at;
  throw invalidOptions(
    `\`expires\` is ${JSON.stringify(text.slice(0, 50))}, but must be a time such as 12h or 30d, a date such as 2030-12-31, or never.`,
  );
}
