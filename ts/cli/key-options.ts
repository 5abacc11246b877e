/** The options of `chasqui keys`, and how what was given becomes the settings of a key. */

import { ChasquiError } from '../errors.js';
import { endOfDate, SCOPES } from '../keys/key-settings.js';
import type { NewKeySettings } from '../keys/key-store.js';
import { MAX_COUNT, type OptionRows } from '../options/option-row.js';
import { HOSTING_OPTIONS } from './hosting-option-table.js';

const GROUP = 'Options';
/** The gateway of a cloud counts, and nothing else does. */
const LIMITS_GROUP = 'Limits, which hold in a cloud and not for servers without one or in Kubernetes';
const limit = { type: 'integer', min: 1, group: LIMITS_GROUP, otherwise: 'no limit' } as const;

export const KEYS_OPTIONS = {
  dataDir: { ...HOSTING_OPTIONS.dataDir, group: GROUP },
  local: {
    type: 'boolean',
    default: false,
    flag: '--local',
    group: GROUP,
    help: 'the keys of this machine, whatever cloud `chasqui login` knows',
  },
  json: { type: 'boolean', default: false, flag: '--json', group: GROUP, help: 'print JSON, for programs' },
} as const satisfies OptionRows;

export const REACH_OPTIONS = {
  org: {
    type: 'string',
    flag: '--org',
    placeholder: 'org_id',
    group: GROUP,
    help: 'the only organisation whose deployments it opens',
    otherwise: 'every one',
  },
  app: {
    type: 'string',
    flag: '--app',
    placeholder: 'app_id',
    group: GROUP,
    help: 'the only app of the organisation that it opens',
    otherwise: 'all of them',
  },
} as const satisfies OptionRows;

export const CREATE_OPTIONS = {
  ...KEYS_OPTIONS,
  ...REACH_OPTIONS,
  name: { type: 'string', flag: '--name', group: GROUP, help: 'what to call it in the list' },
  scopes: {
    type: 'names',
    flag: '--scopes',
    placeholder: 'scopes',
    group: GROUP,
    help: `what it may do, of ${SCOPES.join(', ')}, separated by commas`,
    otherwise: 'call',
  },
  expires: {
    type: 'string',
    flag: '--expires',
    placeholder: 'when',
    group: GROUP,
    help: 'after how long it ends, such as 12h or 30d, or on which date, such as 2030-12-31',
    otherwise: 'never',
  },
  requestsPerMinute: {
    ...limit,
    max: MAX_COUNT,
    flag: '--requests-per-minute',
    help: 'requests that a minute may begin',
  },
  tokensPerMinute: {
    ...limit,
    max: MAX_COUNT,
    flag: '--tokens-per-minute',
    help: 'tokens of prompts and completions in a minute',
  },
  concurrency: { ...limit, max: MAX_COUNT, flag: '--concurrency', help: 'requests that may be under way at once' },
  maxBody: {
    ...limit,
    max: MAX_COUNT * 2 ** 20,
    unit: 'MiB',
    flag: '--max-body',
    help: 'how large the body of a request may be',
  },
} as const satisfies OptionRows;

export interface CreateOptions {
  org?: string;
  app?: string;
  name?: string;
  scopes?: string | readonly string[];
  expires?: string;
  requestsPerMinute?: number;
  tokensPerMinute?: number;
  concurrency?: number;
  maxBody?: number;
}

const MIB = 2 ** 20;

/** Ranges are checked where the key is made. */
export function toKeySettings(given: CreateOptions, now = Date.now() / 1000): NewKeySettings {
  const { org = null, app = null, name = null, scopes = 'call', expires, maxBody } = given;
  const { requestsPerMinute = null, tokensPerMinute = null, concurrency = null } = given;
  return {
    ...{ org, app, name },
    scopes: (typeof scopes === 'string' ? [scopes] : scopes) as NonNullable<NewKeySettings['scopes']>,
    expiresAt: expires === undefined ? null : toExpiry(expires, now),
    limits: {
      ...{ requestsPerMinute, tokensPerMinute, concurrency },
      bodyBytes: maxBody === undefined ? null : maxBody * MIB,
    },
  };
}

const DATE_LENGTH = '2030-12-31'.length;
const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };

/** Unix seconds. A date without a time is good until its end, in Greenwich. */
export function toExpiry(text: string, now: number): number | null {
  if (text === 'never') return null;
  const [, amount, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined) return Math.floor(now) + Number(amount) * (SECONDS[unit] as number);
  const day = endOfDate(text.slice(0, DATE_LENGTH));
  const at = text.length === DATE_LENGTH ? day : Math.floor(Date.parse(text) / 1000);
  if (!Number.isNaN(day) && !Number.isNaN(at)) return at;
  throw new ChasquiError(
    'invalid_options',
    `\`expires\` is ${JSON.stringify(text.slice(0, 50))}, but must be a time such as 12h or 30d, a date such as 2030-12-31, or never.`,
  );
}
