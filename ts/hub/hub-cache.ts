/**
 * The folder of models that llama.cpp, Hugging Face's own programs and others share. Of a repository it has
 *
 *     models--user--name/blobs/<sha256>                  the bytes, under their digest
 *     models--user--name/snapshots/<commit>/<path>       links to them, by their names at that state of the repository
 *     models--user--name/refs/main                       which state is the present one
 *
 * llama.cpp sees only what lies in the snapshot that `refs/main` names.
 */
import fs from 'node:fs';
import path from 'node:path';
import type { HubFile } from './hub-types.js';

export class HubCache {
  constructor(readonly folder: string) {}

  repoFolder(repo: string): string {
    return path.join(this.folder, `models--${repo.replace('/', '--')}`);
  }

  blob(repo: string, name: string): string {
    return path.join(this.repoFolder(repo), 'blobs', name);
  }

  snapshotFile(repo: string, commit: string, file: string): string {
    return path.join(this.repoFolder(repo), 'snapshots', commit, ...file.split('/'));
  }

  /** Where Hugging Face's own programs have their locks, too. They are left there, empty, as those programs leave theirs. */
  lock(repo: string, name: string): string {
    return path.join(this.folder, '.locks', `models--${repo.replace('/', '--')}`, `${name}.chasqui-lock`);
  }

  /** The complete file of a digest; `null` where it is not there. */
  findBlob(repo: string, { sha256, sizeBytes }: HubFile): string | null {
    if (sha256 === null) return null;
    const file = this.blob(repo, sha256);
    return fs.statSync(file, { throwIfNoEntry: false })?.size === sizeBytes ? file : null;
  }

  /** The file by its name, where that leads to one of the right size. */
  findLinked(repo: string, commit: string, { path: name, sizeBytes }: HubFile): string | null {
    const file = this.snapshotFile(repo, commit, name);
    return fs.statSync(file, { throwIfNoEntry: false })?.size === sizeBytes ? file : null;
  }

  /** Gives a blob its name in a snapshot. */
  link(repo: string, commit: string, name: string, blob: string): string {
    const file = this.snapshotFile(repo, commit, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    if (fs.existsSync(file)) return file;
    // A link that leads nowhere is in the way of a new one.
    fs.rmSync(file, { force: true });
    try {
      fs.symlinkSync(path.relative(path.dirname(file), blob), file);
    } catch {
      linkWithoutSymlinks(blob, file);
    }
    return file;
  }

  /** Makes a state of the repository the one that others see. */
  writeRef(repo: string, commit: string): void {
    const file = path.join(this.repoFolder(repo), 'refs', 'main');
    fs.mkdirSync(path.dirname(file), { recursive: true });
    // Beside the folder: other programs take every file in there for a branch.
    const unfinished = path.join(this.repoFolder(repo), `main.${process.pid}`);
    fs.writeFileSync(unfinished, commit);
    fs.renameSync(unfinished, file);
  }
}

/** Windows lets only some accounts make symbolic links. */
function linkWithoutSymlinks(blob: string, file: string): void {
  try {
    fs.linkSync(blob, file);
  } catch {
    fs.renameSync(blob, file);
  }
}
