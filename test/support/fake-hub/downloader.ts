/**
 * A process that downloads a model and may kill itself at a stage on the way: `downloader.ts <endpoint> <cache folder>
 * <folder of the list> <model> <stage>`, where the stage is a name and which time it is: `rename 2`. Writes how many bytes were there at its start.
 */
import fs from 'node:fs';
import { resumeDownload } from './resume-download.js';

const [endpoint = '', cacheFolder = '', folder = '', model = '', stage = ''] = process.argv.slice(2);

/** As `kill -9` does it: nothing runs after this. */
function die(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}

/** The stages that are calls of the file system; a number behind the name is which of these calls. */
const { renameSync, symlinkSync } = fs;
const { open, rename } = fs.promises;
const counts = new Map<string, number>();

/** To be called at each stage: dies where it is the one that was asked for. */
function at(name: string): void {
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  if (stage === `${name} ${count}`) die();
}

fs.promises.open = async (file, ...rest) => {
  if (String(file).endsWith('.chasqui-part.json')) at('part');
  return open(file, ...rest);
};
fs.promises.rename = async (from, to) => {
  at('rename');
  await rename(from, to);
  at('renamed');
};
fs.symlinkSync = (...link) => {
  at('link');
  symlinkSync(...link);
};
fs.renameSync = (from, to) => {
  const [, kind = ''] = /(main|downloads\.json)$/.exec(String(to)) ?? [];
  at(kind);
  renameSync(from, to);
  at(`${kind} written`);
};

const began = (bytes: number) => console.log(`began with ${bytes}`);
await resumeDownload({ endpoint, cacheFolder, folder, model }, began, at);
