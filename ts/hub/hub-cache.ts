/**
 * The model folder shared by llama.cpp, Hugging Face's programs and others. A repository has
 *
 *     models--user--name/blobs/<sha256>                  file contents by digest
 *     models--user--name/snapshots/<commit>/<path>       links to blobs, by file name
 *     models--user--name/refs/main                       the current commit
 *
 * llama.cpp sees only the snapshot that `refs/main` names.
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

  /** In Hugging Face's lock folder. Empty lock files stay, as with Hugging Face's programs. */
  lock(repo: string, name: string): string {
    return path.join(this.folder, '.locks', `models--${repo.replace('/', '--')}`, `${name}.chasqui-lock`);
  }

  /** Returns the complete blob of a digest, or `null`. */
  findBlob(repo: string, { sha256, sizeBytes }: HubFile): string | null {
    if (sha256 === null) return null;
    const file = this.blob(repo, sha256);
    return fs.statSync(file, { throwIfNoEntry: false })?.size === sizeBytes ? file : null;
  }

  /** Returns the linked file of a snapshot if it has the right size, or `null`. */
  findLinked(repo: string, commit: string, { path: name, sizeBytes }: HubFile): string | null {
    const file = this.snapshotFile(repo, commit, name);
    return fs.statSync(file, { throwIfNoEntry: false })?.size === sizeBytes ? file : null;
  }

  link(repo: string, commit: string, name: string, blob: string): string {
    const file = this.snapshotFile(repo, commit, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    if (fs.existsSync(file)) return file;
    // Replace a dangling link.
    fs.rmSync(file, { force: true });
    try {
      fs.symlinkSync(path.relative(path.dirname(file), blob), file);
    } catch {
      linkWithoutSymlinks(blob, file);
    }
    return file;
  }

  /** Makes a commit the current one. */
  writeRef(repo: string, commit: string): void {
    const file = path.join(this.repoFolder(repo), 'refs', 'main');
    fs.mkdirSync(path.dirname(file), { recursive: true });
    // The temporary file is outside `refs`, where other programs take every file for a branch.
    const unfinished = path.join(this.repoFolder(repo), `main.${process.pid}`);
    fs.writeFileSync(unfinished, commit);
    fs.renameSync(unfinished, file);
  }
}

/** On Windows only some accounts can create symbolic links. */
function linkWithoutSymlinks(blob: string, file: string): void {
  try {
    fs.linkSync(blob, file);
  } catch {
    fs.renameSync(blob, file);
  }
}
