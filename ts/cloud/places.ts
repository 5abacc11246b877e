/** Files and folders of a cloud, below the data folder of chasqui. */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { invalidOptions } from '../errors.js';

export interface Places {
  /** Also holds the key file, which servers without a cloud use too. */
  readonly home: string;
  /** The database and other private files of the cloud. */
  readonly cloud: string;
  /** Sockets. */
  readonly run: string;
  /** Held by the running control plane. */
  readonly lock: string;
  readonly logs: string;
  readonly responses: string;
  readonly models: string;
  /** The list of downloads from a hub. */
  readonly downloads: string;
  readonly uploads: string;
  /** URL and token for commands on this machine. */
  readonly address: string;
}

/** The organisation of the machine's owner; exists from the first start. */
export const OWN_ORG = 'me';

/** The system limits socket paths to about 107 bytes, including the file name. */
const MAX_FOLDER = 70;

export function placesIn(home: string): Places {
  const cloud = path.join(path.resolve(home), 'cloud');
  const long = path.join(realPath(path.resolve(home)), 'cloud', 'run');
  const run = long.length <= MAX_FOLDER ? long : shortFolder(long);
  return {
    home: path.resolve(home),
    cloud,
    run,
    lock: path.join(cloud, 'cloud.lock'),
    logs: path.join(cloud, 'logs'),
    responses: path.join(cloud, 'responses'),
    models: path.join(path.resolve(home), 'models'),
    downloads: path.join(cloud, 'downloads'),
    uploads: path.join(cloud, 'models'),
    address: path.join(cloud, 'address.json'),
  };
}

export function makePlaces({ cloud, run }: Places): void {
  for (const folder of [cloud, run]) fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid } = fs.lstatSync(run);
  const own = process.getuid?.() ?? uid;
  if (uid !== own) {
    throw invalidOptions(`Another account owns ${run}, the folder of the cloud's sockets. Remove it.`);
  }
  for (const folder of [cloud, run]) fs.chmodSync(folder, 0o700);
}

/** All paths of one data folder lead to the same sockets, also before it exists. */
function realPath(folder: string): string {
  const parent = path.dirname(folder);
  if (fs.existsSync(folder) || parent === folder) return fs.realpathSync(folder);
  return path.join(realPath(parent), path.basename(folder));
}

/** Contents of the address file. */
export interface WrittenAddress {
  url: string;
  token: string;
  org: string;
  pid: number;
}

export interface LocalAddress extends WrittenAddress {
  /** The account of the cloud. */
  uid: number;
}

/** Returns null if no cloud was started here. */
export function readAddress(home: string): LocalAddress | null {
  try {
    const { address } = placesIn(home);
    return { ...(JSON.parse(fs.readFileSync(address, 'utf8')) as WrittenAddress), uid: fs.statSync(address).uid };
  } catch {
    return null;
  }
}

/** Deterministic, so a restarted control plane finds its runners. */
function shortFolder(long: string): string {
  const { uid } = os.userInfo();
  return path.join(os.tmpdir(), `chasqui-${uid}-${createHash('sha256').update(long).digest('hex').slice(0, 16)}`);
}
