/** The models in the folder that is shared with llama.cpp and Hugging Face's programs. */
import fs from 'node:fs';
import path from 'node:path';
import { entriesOf, type FoundModel, ggufFilesUnder } from './found-model.js';
import { HubCache } from './hub-cache.js';
import { isRepoName, modelNameOf } from './model-name.js';
import { groupQuantisations } from './quantisations.js';
import { isCommit } from './read-hub-replies.js';

const MAX_DEPTH = 10;

/** Of a model that is there in several states, the present one is listed, or else the newest. */
export function findInCache(folder: string): FoundModel[] {
  return entriesOf(folder).flatMap((entry) => {
    const repo = /^models--(.+?)--(.+)$/.exec(entry.name)?.slice(1).join('/');
    return entry.isDirectory() && isRepoName(repo) ? findInRepo(new HubCache(folder), repo) : [];
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

/** The present one first, then the newest. */
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
 * Takes a model's files out of every state of the repository, and their bytes where no other name leads to them.
 * Returns how many bytes that frees.
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

/** The digests of the files of bytes, by what a link to one and a second name of it have in common. */
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

/** A file in the place of a link is the bytes themselves. */
function removeLink(file: string): number {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  fs.rmSync(file);
  return stat.isFile() && stat.nlink === 1 ? stat.size : 0;
}

/**
 * Of these digests, the bytes that no name leads to. Others without a name stay: a download names its files when it has
 * all of them.
 */
export function removeOrphans(cache: HubCache, repo: string, digests: ReadonlySet<string>): number {
  const used = usedBlobs(path.join(cache.repoFolder(repo), 'snapshots'));
  let freed = 0;
  for (const digest of digests) {
    if (used.has(digest)) continue;
    const file = cache.blob(repo, digest);
    const stat = fs.lstatSync(file, { throwIfNoEntry: false });
    // A second name of the same file, where there are no symbolic links.
    if (stat === undefined || stat.nlink > 1) continue;
    fs.rmSync(file);
    freed += stat.size;
  }
  return freed;
}

function usedBlobs(snapshots: string): Set<string> {
  const used = new Set<string>();
  const visit = (folder: string, depth: number) => {
    for (const entry of entriesOf(folder)) {
      const name = path.join(folder, entry.name);
      if (entry.isSymbolicLink()) used.add(path.basename(fs.readlinkSync(name)));
      else if (entry.isDirectory() && depth < MAX_DEPTH + 1) visit(name, depth + 1);
    }
  };
  visit(snapshots, 0);
  return used;
}

function removeEmptyFolders(folder: string): void {
  for (const entry of entriesOf(folder)) {
    if (entry.isDirectory()) removeEmptyFolders(path.join(folder, entry.name));
  }
  if (fs.existsSync(folder) && entriesOf(folder).length === 0) fs.rmdirSync(folder);
}

/** Of a repository of which nothing is left, nor is on its way. */
function removeEmptyRepo(cache: HubCache, repo: string): void {
  const folder = cache.repoFolder(repo);
  const isEmpty = ['blobs', 'snapshots'].every((name) => entriesOf(path.join(folder, name)).length === 0);
  if (isEmpty) fs.rmSync(folder, { recursive: true, force: true });
}
