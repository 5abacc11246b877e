/** The folder of the small cloud of a `chasqui run`. One that was killed leaves its folder, which the next one removes. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { isHeld } from '../../cloud/one-at-a-time.js';
import { placesIn } from '../../cloud/places.js';

const PREFIX = 'chasqui-run-';
/** A folder is made before its cloud listens. */
const YOUNG_MS = 60_000;

export async function makeRunFolder(): Promise<string> {
  for (const name of fs.readdirSync(os.tmpdir())) {
    if (name.startsWith(PREFIX)) await removeIfLeft(path.join(os.tmpdir(), name));
  }
  return fs.mkdtempSync(path.join(os.tmpdir(), PREFIX));
}

/** Somebody else's is left alone, and so is one that cannot be removed. */
async function removeIfLeft(folder: string): Promise<void> {
  const stat = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isDirectory() || stat.uid !== process.getuid?.()) return;
  if (Date.now() - stat.mtimeMs < YOUNG_MS || (await isHeld(placesIn(folder).lock))) return;
  try {
    fs.rmSync(folder, { recursive: true, force: true });
  } catch {
    // The system removes it some day.
  }
}
