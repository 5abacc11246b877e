/** Quotas of organisations, which the operator sets. They are checked at deployment and before each start of a runner. */
import { ChasquiError } from '../../errors.js';
import { formatMemory } from '../../hub/format-bytes.js';

export interface Quota {
  readonly apps: number;
  readonly runners: number;
  /** In bytes, for all runners together. */
  readonly memory: number;
  /** Bytes of uploaded models. */
  readonly uploads: number;
}

export type Quotas = (org: string) => Quota;

/** An app of an organisation, and the runners that it needs at the same time. */
export interface AppNeeds {
  readonly runners: number;
  /** Per runner. */
  readonly bytes: number;
}

/** `memory=8192` for each organisation, `acme:memory=8192` for one; memory and uploads in MiB. */
export const QUOTA_PATTERN = /^(?:([A-Za-z0-9][A-Za-z0-9._-]{0,99}):)?(apps|runners|memory|uploads)=(\d{1,9})$/;

const MIB = 2 ** 20;
export const UNLIMITED: Quota = { apps: Infinity, runners: Infinity, memory: Infinity, uploads: Infinity };

/** A quota of one organisation replaces that of all. `texts` match `QUOTA_PATTERN`. */
export function readQuotas(texts: readonly string[]): Quotas {
  const byOrg = new Map<string | undefined, Partial<Quota>>();
  for (const text of texts) {
    const [, org, name, amount] = QUOTA_PATTERN.exec(text) as RegExpExecArray;
    const value = Number(amount) * (isBytes(name as keyof Quota) ? MIB : 1);
    byOrg.set(org, { ...byOrg.get(org), [name as string]: value });
  }
  return (org) => ({ ...UNLIMITED, ...byOrg.get(undefined), ...byOrg.get(org) });
}

/** @throws {ChasquiError} `deployment_refused` if the apps of the organisation together exceed its quota. */
export function refuseBeyondQuota(org: string, quota: Quota, apps: readonly AppNeeds[]): void {
  const needed = {
    apps: apps.length,
    runners: apps.reduce((sum, { runners }) => sum + runners, 0),
    memory: apps.reduce((sum, { runners, bytes }) => sum + runners * bytes, 0),
  };
  for (const name of Object.keys(needed) as (keyof typeof needed)[]) {
    if (needed[name] <= quota[name]) continue;
    const [wanted, limit] = [amountOf(name, needed[name]), amountOf(name, quota[name])];
    const message = `Organisation ${org} would need ${wanted}; its quota is ${limit}. Delete apps, reduce \`scale.min\``;
    throw new ChasquiError('deployment_refused', `${message} or ask the operator for a larger quota.`);
  }
}

/** Why another runner exceeds the quota; null: it does not. `runners`: those of the organisation. */
export function beyondQuota(
  org: string,
  quota: Quota,
  runners: readonly { readonly bytes: number }[],
  bytes: number,
): string | null {
  const used: Quota = {
    ...UNLIMITED,
    runners: runners.length,
    memory: runners.reduce((sum, each) => sum + each.bytes, 0),
  };
  const name = used.runners + 1 > quota.runners ? 'runners' : used.memory + bytes > quota.memory ? 'memory' : null;
  if (name === null) return null;
  return `quota of organisation ${org}: ${amountOf(name, used[name])} of ${amountOf(name, quota[name])} are in use`;
}

function amountOf(name: keyof Quota, value: number): string {
  return isBytes(name) ? `${formatMemory(value)} of ${name}` : `${value} ${name}`;
}

function isBytes(name: keyof Quota): boolean {
  return name === 'memory' || name === 'uploads';
}
