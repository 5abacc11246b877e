/** Looks for a newer version of this package, at most once a day. Sends nothing about the user or the machine. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PACKAGE } from '../version.js';
import { readRegistry } from './npm-settings.js';
import { type PublishedVersion, publishedVersion, type RegistryKeys, sourceOf } from './published-version.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const FILE = 'update-check.json';

export interface UpdateCheck {
  /** The data folder. */
  folder: string;
  environment: NodeJS.ProcessEnv;
  /** Default: this package. */
  own?: typeof PACKAGE;
  keys?: RegistryKeys;
}

/** Null unless npm has signed the version. */
export function installCommand({ version, isSigned }: PublishedVersion): string | null {
  return isSigned ? `npm install -g ${PACKAGE.name}@${version}` : null;
}

interface Kept {
  checkedAt: number;
  found: PublishedVersion | null;
}

/** Returns the newer version, or null if there is none, none is known, or checks are off. Never rejects. */
export async function newerVersion(check: UpdateCheck, now = Date.now()): Promise<PublishedVersion | null> {
  const { folder, environment, own = PACKAGE } = check;
  // Without its source, a package of this name in the registry could be anyone's.
  if (environment.CI || sourceOf(own.repository) === null) return null;
  try {
    const kept = await readKept(folder);
    const isRecent = kept !== null && Math.abs(now - kept.checkedAt) < DAY_MS;
    const found = isRecent ? kept.found : await look({ ...check, own }, kept, now);
    return found !== null && isNewer(found.version, own.version) ? found : null;
  } catch {
    return null;
  }
}

/** A check that fails counts too, and keeps what the last one found. */
async function look(
  { folder, environment, own, keys }: UpdateCheck & { own: typeof PACKAGE },
  kept: Kept | null,
  checkedAt: number,
): Promise<PublishedVersion | null> {
  await keep(folder, { checkedAt, found: kept?.found ?? null });
  const registry = await readRegistry(environment);
  if (registry === null) return null;
  const found = await publishedVersion(own, registry, keys);
  await keep(folder, { checkedAt, found });
  return found;
}

async function readKept(folder: string): Promise<Kept | null> {
  try {
    const { checkedAt, found } = JSON.parse(await readFile(path.join(folder, FILE), 'utf8')) as Kept;
    return { checkedAt, found };
  } catch {
    return null;
  }
}

async function keep(folder: string, kept: Kept): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(path.join(folder, FILE), JSON.stringify(kept), { mode: 0o600 });
}

function isNewer(one: string, other: string): boolean {
  const [left, right] = [one, other].map((version) => version.split('.').map(Number.parseFloat)) as [
    number[],
    number[],
  ];
  const at = left.findIndex((number, index) => number !== right[index]);
  return at >= 0 && (left[at] as number) > (right[at] ?? 0);
}
