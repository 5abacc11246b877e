/** Finds and removes models in the Hugging Face cache folder. */
import fs from 'node:fs';
import path from 'node:path';
import { entriesOf, type FoundModel, ggufFilesUnder } from './find-in-folders.js';
import { HubCache } from './hub-cache.js';
import { isRepoName, modelNameOf } from './model-name.js';
import { groupQuantisations } from './quantisations.js';
import { isCommit } from './read-hub-replies.js';

const MAX_DEPTH = 10;

/** If several snapshots have the same model, lists the current one, or else the newest. */
export function findInCache(folder: string): FoundModel[] {
  return reposIn(folder).flatMap((repo) => findInRepo(new HubCache(folder), repo));
}

export function reposIn(folder: string): string[] {
  return entriesOf(folder).flatMap((entry) => {
    const repo = /^models--(.+?)--(.+)$/.exec(entry.name)?.slice(1).join('/');
    return entry.isDirectory() && isRepoName(repo) ? [repo] : [];
  });
}

function findInRepo(cache: HubCache, repo: string): FoundModel[] {
  const found = new Map<string, FoundModel>();
  for (const commit of snapshotsOf(cache, repo)) {
    const folder = path.join(cache.repoFolder(repo), 'snapshots', commit);
    const files = ggufFilesUnder(folder, MAX_DEPTH).map((file) => ({ ...file, sha256: null }));
    for (const quantisation of groupQuantisations(files, null)) {
      const id = modelNameOf(repo, quantisation);
      if (found.has(id)) continue;
      const pathOf = (file: { path: string }) => cache.snapshotFile(repo, commit, file.path);
      found.set(id, {
        id,
        files: quantisation.files.map(pathOf),
        projector: quantisation.projector && pathOf(quantisation.projector),
        quantisation: quantisation.label,
        source: 'hub',
        canDelete: true,
        repo,
        commit,
      });
    }
  }
  return [...found.values()];
}

/** Current snapshot first, then newest first. */
function snapshotsOf(cache: HubCache, repo: string): string[] {
  const folder = path.join(cache.repoFolder(repo), 'snapshots');
  const commits = entriesOf(folder)
    .filter((entry) => entry.isDirectory() && isCommit(entry.name))
    .map(({ name }) => ({ name, at: fs.statSync(path.join(folder, name)).mtimeMs }))
    .sort((one, other) => other.at - one.at)
    .map(({ name }) => name);
  const present = readRef(cache, repo);
  return commits.sort((one, other) => Number(other === present) - Number(one === present));
}

function readRef(cache: HubCache, repo: string): string {
  try {
    return fs.readFileSync(path.join(cache.repoFolder(repo), 'refs', 'main'), 'utf8').trim();
  } catch {
    return '';
  }
}

/**
 * Removes a model's files from every snapshot of the repository, and the blobs that no snapshot links to any more.
 * Returns the number of bytes freed.
 */
export function removeFromCache(folder: string, { repo, commit, files, projector }: FoundModel): number {
  const cache = new HubCache(folder);
  if (repo === null || commit === null) return 0;
  const snapshots = path.join(cache.repoFolder(repo), 'snapshots');
  const inSnapshot = (file: string) => path.relative(path.join(snapshots, commit), file);
  const isShared =
    projector !== null && findInRepo(cache, repo).filter((other) => other.projector === projector).length > 1;
  const names = [...files, ...(projector === null || isShared ? [] : [projector])].map(inSnapshot);
  const blobs = blobsOf(cache, repo);
  const unlinked = new Set<string>();
  let freed = 0;
  for (const state of entriesOf(snapshots)) {
    for (const name of names) {
      const file = path.join(snapshots, state.name, name);
      const identity = identityOf(file);
      const blob = identity && blobs.get(identity);
      if (blob) unlinked.add(blob);
      freed += removeLink(file);
    }
    removeEmptyFolders(path.join(snapshots, state.name));
  }
  freed += removeOrphans(cache, repo, unlinked);
  removeEmptyRepo(cache, repo);
  return freed;
}

/** Maps the identity of a blob (device and inode) to its digest. */
function blobsOf(cache: HubCache, repo: string): Map<string, string> {
  const names = entriesOf(path.join(cache.repoFolder(repo), 'blobs')).map(({ name }) => name);
  return new Map(
    names.filter((name) => /^[0-9a-f]{64}$/.test(name)).map((name) => [identityOf(cache.blob(repo, name)) ?? '', name]),
  );
}

function identityOf(file: string): string | null {
  const stat = fs.statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.dev}:${stat.ino}`;
}

/** Without links, the snapshot entry is the blob itself. */
function removeLink(file: string): number {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  fs.rmSync(file);
  return stat.isFile() && stat.nlink === 1 ? stat.size : 0;
}

/**
 * Filters digests to blobs without a link. Other unlinked blobs are kept: a running download links its files when all
 * are complete.
 */
export function removeOrphans(cache: HubCache, repo: string, digests: ReadonlySet<string>): number {
  const used = usedBlobs(cache, repo);
  let freed = 0;
  for (const digest of digests) {
    if (used.has(digest)) continue;
    const file = cache.blob(repo, digest);
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    // A hard link, on systems without symbolic links.
    if (stat === undefined || stat.nlink > 1) continue;
    fs.rmSync(file);
    freed += stat.size;
  }
  return freed;
}

/** Names of the blobs that snapshots link to. */
export function usedBlobs(cache: HubCache, repo: string): Set<string> {
  const used = new Set<string>();
  const visit = (folder: string, depth: number) => {
    for (const entry of entriesOf(folder)) {
      const name = path.join(folder, entry.name);
      if (entry.isSymbolicLink()) used.add(path.basename(fs.readlinkSync(name)));
      else if (entry.isDirectory() && depth < MAX_DEPTH + 1) visit(name, depth + 1);
    }
  };
  visit(path.join(cache.repoFolder(repo), 'snapshots'), 0);
  return used;
}

function removeEmptyFolders(folder: string): void {
  for (const entry of entriesOf(folder)) {
    if (entry.isDirectory()) removeEmptyFolders(path.join(folder, entry.name));
  }
  if (fs.existsSync(folder) && entriesOf(folder).length === 0) fs.rmdirSync(folder);
}

/** Removes the folder of a repository without files or running downloads. */
export function removeEmptyRepo(cache: HubCache, repo: string): void {
  const folder = cache.repoFolder(repo);
  const isEmpty = ['blobs', 'snapshots'].every((name) => entriesOf(path.join(folder, name)).length === 0);
  if (isEmpty) fs.rmSync(folder, { recursive: true, force: true });
}
