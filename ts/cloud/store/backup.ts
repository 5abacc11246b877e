/** Copies of a cloud's data: apps, keys, users, usage, secrets, stored responses and uploaded models. */
import fs from 'node:fs';
import path from 'node:path';
import { invalidOptions } from '../../errors.js';
import { ProcessLock } from '../../hub/process-lock.js';
import { openSqlite } from '../../sqlite.js';
import { makePlaces, type Places, placesIn } from '../places.js';
import { openDatabase } from './database.js';

/** Names the data folder that was copied. */
const ABOUT = 'backup.json';

/**
 * Writes a new folder, also while the cloud runs.
 *
 * @throws {ChasquiError} `invalid_options`
 */
export function backUp(home: string, folder: string): void {
  const places = placesIn(home);
  if (!hasData(places)) throw invalidOptions(`No cloud has run in ${home}.`);
  if (fs.existsSync(folder)) throw invalidOptions(`${folder} exists. Choose a new folder.`);
  const part = `${path.resolve(folder)}.part`;
  fs.rmSync(part, { recursive: true, force: true });
  fs.mkdirSync(part, { recursive: true, mode: 0o700 });
  for (const file of filesOf(places)) copy(path.join(places.home, file), path.join(part, file));
  fs.writeFileSync(path.join(part, ABOUT), JSON.stringify({ home: places.home, at: new Date().toISOString() }));
  fs.renameSync(part, folder);
}

/**
 * Fills a data folder without a cloud.
 *
 * @throws {ChasquiError} `invalid_options`
 */
export function restore(home: string, folder: string): void {
  const about = path.join(folder, ABOUT);
  if (!fs.existsSync(about)) throw invalidOptions(`${folder} is not a backup of a cloud.`);
  const places = placesIn(home);
  makePlaces(places);
  const lock = ProcessLock.tryTake(places.lock);
  if (lock === null || hasData(places)) {
    lock?.release();
    throw invalidOptions(`${home} has the data of a cloud. Restore into another \`dataDir\`.`);
  }
  for (const file of filesOf(placesIn(folder)))
    copy(path.join(path.resolve(folder), file), path.join(places.home, file));
  const { home: from } = JSON.parse(fs.readFileSync(about, 'utf8')) as { home: string };
  moveUploads(places, placesIn(from).uploads);
  lock.release();
}

function hasData({ cloud }: Places): boolean {
  return fs.existsSync(path.join(cloud, 'cloud.db'));
}

/** Paths below the data folder. Databases come first: a model that is uploaded meanwhile is not in them. */
function filesOf({ home, cloud, responses, uploads }: Places): string[] {
  const single = [path.join(cloud, 'cloud.db'), path.join(home, 'chasqui.db'), path.join(cloud, 'secret.key')];
  const all = [...single, ...filesBelow(responses, '.db'), ...filesBelow(uploads, '.gguf')];
  return all.filter((file) => fs.existsSync(file)).map((file) => path.relative(home, file));
}

function filesBelow(folder: string, extension: string): string[] {
  if (!fs.existsSync(folder)) return [];
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith(extension)).map((name) => path.join(folder, name));
}

/** A database may be in use, and part of it may be in its write-ahead log. */
function copy(from: string, to: string): void {
  fs.mkdirSync(path.dirname(to), { recursive: true, mode: 0o700 });
  if (from.endsWith('.db')) {
    fs.rmSync(to, { force: true });
    const database = openSqlite(from);
    database.exec('PRAGMA busy_timeout = 5000');
    database.prepare('VACUUM INTO ?').run(to);
    database.close();
    fs.chmodSync(to, 0o600);
  } else fs.copyFileSync(from, to, fs.constants.COPYFILE_FICLONE);
}

/** Revisions name uploaded models by their paths. */
function moveUploads({ cloud, uploads }: Places, from: string): void {
  const [old, own] = [from, uploads].map((folder) => JSON.stringify(`${folder}${path.sep}`).slice(1, -1)) as string[];
  const database = openDatabase(cloud);
  database.run('UPDATE revisions SET options = replace(options, ?1, ?2), files = replace(files, ?1, ?2)', [
    old ?? '',
    own ?? '',
  ]);
  database.close();
}
