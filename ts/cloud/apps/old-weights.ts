/**
 * Finds weights to delete when the disk is full: those used only by revisions older than the last three, and abandoned
 * partial files. Hub files stay: other programs share their folder.
 */
import fs from 'node:fs';
import path from 'node:path';
import { fetchedFileOf } from '../../hub/fetch-model.js';
import type { ModelReference } from '../script/field-values.js';
import { filesIn, storedManifest } from '../script/manifest.js';
import type { AppStore, RevisionRow } from './app-store.js';

/** Each app keeps the weights of this many revisions. */
const KEPT_REVISIONS = 3;
/** An uploaded or requested model may be deployed within this time. */
const UPLOAD_GRACE_MS = 3_600_000;

/**
 * A partial file that was not written for this long is abandoned: fetches end after five minutes without progress. Other
 * processes may fetch into the same folder.
 */
const ABANDONED_MS = 10 * 60_000;

export interface WeightFolders {
  /** Models that the cloud fetched. */
  readonly models: string;
  /** Uploads of remote deployments. */
  readonly uploads: string;
}

/** Returns the number of freed bytes. */
export function removeOldWeights(store: AppStore, folders: WeightFolders): number {
  return removeAll([...oldWeights(store, folders), ...abandonedParts(folders.models)]);
}

/** Removes partial files of processes that were killed. */
export function removeAbandonedParts({ models }: Pick<WeightFolders, 'models'>): void {
  removeAll(abandonedParts(models));
}

/** Whether an active or unfinished revision uses this URL. */
export function isAddressWanted(store: AppStore, url: string): boolean {
  const hasIt = (row: RevisionRow): boolean =>
    referencesIn(row).some((reference) => reference.kind === 'url' && reference.url === url);
  return store.apps().some((app) => app.deleted === 0 && store.usedRevisions(app.id).some(hasIt));
}

/** Paths of uploads that no current revision uses. */
export function oldUploads(store: AppStore, folders: WeightFolders): string[] {
  return oldWeights(store, folders).filter((file) => path.dirname(file) === folders.uploads && isOld(file));
}

/** Milliseconds since 1970; 0 if the file does not exist. */
export function usedAt(file: string): number {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? 0 : Math.max(stat.atimeMs, stat.mtimeMs);
}

function oldWeights(store: AppStore, folders: WeightFolders): string[] {
  const kept = new Set<string>();
  const old = new Set(unusedUploads(folders.uploads));
  for (const app of store.apps()) {
    const revisions = store.revisions(app.id);
    revisions.forEach((row, index) => {
      const isKept = index >= revisions.length - KEPT_REVISIONS || row.number === app.active || isInUse(row);
      for (const file of filesOf(row, folders)) (isKept ? kept : old).add(file);
    });
  }
  return [...old].filter((file) => !kept.has(file));
}

/** Whether an error or its cause reports a full disk. */
export function isFullDisk(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { code?: string; cause?: unknown };
  return ['ENOSPC', 'EDQUOT', 'no_space'].includes(code ?? '') || (cause !== undefined && isFullDisk(cause));
}

function isInUse({ state }: RevisionRow): boolean {
  return state !== 'RETIRED' && state !== 'FAILED';
}

/** Files that the cloud may remove: not those deployed from their own path. */
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

function unusedUploads(uploads: string): string[] {
  const names = fs.existsSync(uploads) ? fs.readdirSync(uploads) : [];
  const files = names.map((name) => path.join(uploads, name));
  return files.filter(isOld);
}

function isOld(file: string): boolean {
  return fs.existsSync(file) && Date.now() - usedAt(file) > UPLOAD_GRACE_MS;
}

function removeAll(files: readonly string[]): number {
  return files.reduce((freed, file) => freed + remove(file), 0);
}

function remove(file: string): number {
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  fs.rmSync(file, { force: true });
  return size;
}

/** Paths of abandoned partial files. */
export function abandonedParts(folder: string): string[] {
  if (!fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.part'));
  return names.map((name) => path.join(folder, name)).filter(isAbandoned);
}

function isAbandoned(file: string): boolean {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat?.isFile() === true && Date.now() - stat.mtimeMs > ABANDONED_MS;
}
