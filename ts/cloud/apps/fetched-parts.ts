/** Models that are being fetched from addresses: the room that they may take, and what is left of those that broke off. */
import fs from 'node:fs';
import path from 'node:path';
import { ChasquiError } from '../../errors.js';

/** A fetch that goes on writes something every five minutes, or it is ended. Other processes fetch into the folder too. */
const LEFT_MS = 10 * 60_000;
/** What others may need of the disk, the database of the cloud before all: a twentieth, and no more than this. */
const MAX_RESERVE_BYTES = 2 ** 30;

/** @throws {ChasquiError} `no_space`: the disk of this folder has no room for so many bytes more */
export function checkRoom(folder: string, bytes: number): void {
  fs.mkdirSync(folder, { recursive: true });
  const { blocks, bavail, bsize } = fs.statfsSync(folder);
  const room = bavail * bsize - Math.min(MAX_RESERVE_BYTES, (blocks * bsize) / 20);
  if (bytes <= room) return;
  throw new ChasquiError('no_space', 'There is no space left on the disk of the cloud for the model that is fetched.');
}

/** The paths of files that nobody will go on with. */
export function leftParts(folder: string): string[] {
  if (!fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.part'));
  return names.map((name) => path.join(folder, name)).filter(isLeft);
}

function isLeft(file: string): boolean {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat?.isFile() === true && Date.now() - stat.mtimeMs > LEFT_MS;
}
