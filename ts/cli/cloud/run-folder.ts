/** The folder of the temporary cloud of a `chasqui run`. The next run removes the folders of killed ones. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { placesIn } from '../../cloud/places.js';
import { ProcessLock } from '../../hub/process-lock.js';

const PREFIX = 'chasqui-run-';
/** A folder exists before its cloud holds the lock. */
const YOUNG_MS = 60_000;

export function makeRunFolder(): string {
  for (const name of fs.readdirSync(os.tmpdir())) {
    if (name.startsWith(PREFIX)) removeIfOrphaned(path.join(os.tmpdir(), name));
  }
  return fs.mkdtempSync(path.join(os.tmpdir(), PREFIX));
}

/** Keeps folders of other users and of running clouds. */
function removeIfOrphaned(folder: string): void {
  const stat = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isDirectory() || stat.uid !== process.getuid?.()) return;
  if (Date.now() - stat.mtimeMs < YOUNG_MS) return;
  try {
    const lock = ProcessLock.tryTake(placesIn(folder).lock);
    if (lock === null) return;
    lock.release();
    fs.rmSync(folder, { recursive: true, force: true });
  } catch {
    // The operating system cleans its temporary folder.
  }
}
