/**
 * Weights that only revisions have which nobody is likely to go back to, and what is left of fetches that broke off: what
 * is removed when the disk is full. Files of a hub are in a folder that other programs share, and stay.
 */
import fs from 'node:fs';
import path from 'node:path';
import { fetchedFileOf } from '../../hub/fetch-model.js';
import { filesIn } from '../script/manifest.js';
import type { ModelReference } from '../script/model-reference.js';
import type { AppRow, AppStore, RevisionRow } from './app-store.js';
import { leftParts } from './fetched-parts.js';
import { storedManifest } from './stored-manifest.js';

/** So many revisions of each app keep their weights. */
const KEPT_REVISIONS = 3;
/** A model that was sent, or asked for by its digest, is deployed a moment later. */
const SENT_MS = 3_600_000;

export interface WeightFolders {
  /** What the cloud fetched by itself. */
  readonly models: string;
  /** What was sent by those who deploy from elsewhere. */
  readonly uploads: string;
}

/** Returns how many bytes that made free. */
export function removeOldWeights(store: AppStore, folders: WeightFolders): number {
  return removeAll([...oldWeights(store, folders), ...leftParts(folders.models)]);
}

/** Of fetches by processes that were killed. */
export function removeLeftParts({ models }: Pick<WeightFolders, 'models'>): void {
  removeAll(leftParts(models));
}

/** Whether a revision that is on its way, or takes an app's requests, has one of its files from this address. */
export function isAddressWanted(store: AppStore, url: string): boolean {
  const hasIt = (row: RevisionRow): boolean =>
    referencesIn(row).some((reference) => reference.kind === 'url' && reference.url === url);
  const wanting = ({ id, active }: AppRow): RevisionRow[] =>
    store.revisions(id).filter((row) => row.number === active || isInUse(row));
  return store.apps().some((app) => app.deleted === 0 && wanting(app).some(hasIt));
}

/** The paths of models that were sent and that nobody is likely to need. */
export function oldUploads(store: AppStore, folders: WeightFolders): string[] {
  return oldWeights(store, folders).filter((file) => path.dirname(file) === folders.uploads && isOld(file));
}

/** Milliseconds since 1970. A file that is gone was used longest ago. */
export function usedAt(file: string): number {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? 0 : Math.max(stat.atimeMs, stat.mtimeMs);
}

function oldWeights(store: AppStore, folders: WeightFolders): string[] {
  const kept = new Set<string>();
  const old = new Set(sentLongAgo(folders.uploads));
  for (const app of store.apps()) {
    const revisions = store.revisions(app.id);
    revisions.forEach((row, index) => {
      const isKept = index >= revisions.length - KEPT_REVISIONS || row.number === app.active || isInUse(row);
      for (const file of filesOf(row, folders)) (isKept ? kept : old).add(file);
    });
  }
  return [...old].filter((file) => !kept.has(file));
}

/** Whether an error, or what caused it, says that a disk is full. */
export function isFullDisk(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: string; cause?: unknown };
  return ['ENOSPC', 'EDQUOT', 'no_space'].includes(code ?? '') || (cause !== undefined && isFullDisk(cause));
}

function isInUse({ state }: RevisionRow): boolean {
  return state !== 'RETIRED' && state !== 'FAILED';
}

/** Those that the cloud may remove: no file that somebody deployed from where it lies. */
function filesOf(row: RevisionRow, { models, uploads }: WeightFolders): string[] {
  return referencesIn(row).flatMap((reference) => {
    if (reference.kind === 'url') {
      return (['any', 'public'] as const).map((hosts) => fetchedFileOf(reference.url, models, hosts));
    }
    return reference.kind === 'file' && path.dirname(reference.path) === uploads ? [reference.path] : [];
  });
}

function referencesIn({ options, app }: RevisionRow): ModelReference[] {
  const manifest = storedManifest(options, app);
  return manifest === null ? [] : filesIn(manifest);
}

function sentLongAgo(uploads: string): string[] {
  const names = fs.existsSync(uploads) ? fs.readdirSync(uploads) : [];
  const files = names.map((name) => path.join(uploads, name));
  return files.filter(isOld);
}

function isOld(file: string): boolean {
  return fs.existsSync(file) && Date.now() - usedAt(file) > SENT_MS;
}

function removeAll(files: readonly string[]): number {
  return files.reduce((freed, file) => freed + remove(file), 0);
}

function remove(file: string): number {
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  fs.rmSync(file, { force: true });
  return size;
}
