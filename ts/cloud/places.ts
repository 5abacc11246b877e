/** Where a cloud keeps its things, under the folder of everything that chasqui keeps. */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export interface Places {
  /** Keys of deployments, which servers without a cloud use as well. */
  readonly home: string;
  /** The database and all that is the cloud's own. */
  readonly cloud: string;
  /** Sockets. */
  readonly run: string;
  /** Who listens on this one is at work here. */
  readonly lock: string;
  readonly logs: string;
  /** Responses that apps have stored. */
  readonly responses: string;
  /** What was fetched. */
  readonly models: string;
  /** The list of downloads from a hub. */
  readonly downloads: string;
  /** What was sent by those who deploy from elsewhere. */
  readonly uploads: string;
  /** Tells commands on this machine where the cloud is, and lets them in. */
  readonly address: string;
}

/** Of a socket's path the system takes no more, its name included. */
const MAX_FOLDER = 70;

export function placesIn(home: string): Places {
  const cloud = path.join(path.resolve(home), 'cloud');
  const long = path.join(cloud, 'run');
  const run = long.length <= MAX_FOLDER ? long : shortFolder(long);
  return {
    home: path.resolve(home),
    cloud,
    run,
    lock: path.join(run, 'control.lock'),
    logs: path.join(cloud, 'logs'),
    responses: path.join(cloud, 'responses'),
    models: path.join(path.resolve(home), 'models'),
    downloads: path.join(cloud, 'downloads'),
    uploads: path.join(cloud, 'models'),
    address: path.join(cloud, 'address.json'),
  };
}

export function makePlaces({ cloud, run }: Places): void {
  for (const folder of [cloud, run]) {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    fs.chmodSync(folder, 0o700);
  }
}

/** What the address file holds. */
export interface LocalAddress {
  url: string;
  token: string;
  org: string;
}

/** Null: no cloud has been started here. */
export function readAddress(home: string): LocalAddress | null {
  try {
    return JSON.parse(fs.readFileSync(placesIn(home).address, 'utf8')) as LocalAddress;
  } catch {
    return null;
  }
}

/** The same for the same folder, so that what was started before is found again. */
function shortFolder(long: string): string {
  const { uid } = os.userInfo();
  return path.join(os.tmpdir(), `chasqui-${uid}-${createHash('sha256').update(long).digest('hex').slice(0, 16)}`);
}
