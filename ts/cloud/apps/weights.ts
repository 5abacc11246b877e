/** Fetches the files of a revision to this machine. Runners and revisions share each fetch. */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { sizeOfModel } from '../../engine/model-files.js';
import { ChasquiError } from '../../errors.js';
import { fetchModel } from '../../hub/fetch-model.js';
import type { ImageHosts } from '../../images/public-address.js';
import type { ModelReference } from '../script/field-values.js';
import { filesIn, type Manifest, modelsIn } from '../script/manifest.js';
import type { HubFetcher, OnFetchProgress } from './hub-weights.js';
import { SharedFetches } from './shared-fetches.js';

/** Size and SHA-256 of a file at deployment. */
export interface FileMark {
  size: number;
  sha256: string;
}

export type FileMarks = Readonly<Record<string, FileMark>>;

/** The paths of a model's files. */
export interface ModelWeights {
  model: string;
  mmproj: string | null;
  draftModel: string | null;
  /** In the order of the manifest's. */
  adapters: readonly string[];
}

/** All models of an app, in the order of the manifest. */
export type Weights = readonly ModelWeights[];

export interface FetchWatcher {
  /** `what`: for example `fetching weights`; `fraction`: from 0 to 1. */
  onProgress(what: string, fraction: number): void;
  /**
   * Called with the total known size of the files, and again when it grows. An error it throws ends the fetch for this
   * app only: a hub download that others may share continues.
   */
  checkSize?(bytes: number): void;
}

/** Disk space that fetches leave to other uses, such as the database: a twentieth of the disk, at most this much. */
const MAX_RESERVE_BYTES = 2 ** 30;

export class WeightStore {
  readonly #fetches = new SharedFetches();

  /**
   * `folder`: destination of the fetched files. `isWanted`: whether a revision still needs a URL; otherwise its fetch
   * ends.
   */
  constructor(
    private readonly folder: string,
    private readonly demoModel: string,
    private readonly hub: HubFetcher,
    private readonly isWanted: (url: string) => boolean = () => true,
  ) {}

  /** Ends fetches from URLs without failing their revisions, so the next control plane resumes them. */
  close(): Promise<void> {
    return this.#fetches.close();
  }

  /**
   * `hubToken`: the app's own. `hosts`: which hosts URLs may lead to.
   *
   * @throws {ChasquiError} `model_file_missing`, `model_file_invalid`, `model_fetch_failed`, and errors of the watcher
   */
  async fetch(
    manifest: Manifest,
    marks: FileMarks,
    hubToken: string | null,
    { onProgress, checkSize = () => {} }: FetchWatcher,
    hosts: ImageHosts = 'any',
  ): Promise<Weights> {
    const total = filesIn(manifest).filter(isFetched).length;
    const sizes = new FileSizes(checkSize);
    for (const reference of filesIn(manifest)) sizes.note(reference, this.#sizeHere(reference));
    sizes.check();
    let number = 0;
    const one = async (reference: ModelReference): Promise<string> => {
      if (isFetched(reference)) number += 1;
      const which = total > 1 ? ` ${number} of ${total},` : '';
      const file = this.#file(reference, marks, { hubToken, hosts }, (what, fraction, bytes = 0) => {
        onProgress(what + which, fraction);
        if (sizes.note(reference, bytes)) sizes.checkLater();
      });
      const path = await Promise.race([file, sizes.refused]);
      if (sizes.note(reference, sizeOfModel(path) ?? 0)) sizes.check();
      return path;
    };
    const optional = async (reference: ModelReference | null) => (reference === null ? null : one(reference));
    const all: ModelWeights[] = [];
    for (const { model, mmproj, draftModel, adapters } of modelsIn(manifest)) {
      const files = { model: await one(model), mmproj: await optional(mmproj), draftModel: await optional(draftModel) };
      const paths: string[] = [];
      for (const { file } of adapters) paths.push(await one(file));
      all.push({ ...files, adapters: paths });
    }
    return all;
  }

  /** Size of a local file; 0 for files that have to be fetched. */
  #sizeHere(reference: ModelReference): number {
    if (reference.kind === 'demo') return sizeOfModel(this.demoModel) ?? 0;
    return reference.kind === 'file' ? (sizeOfModel(reference.path) ?? 0) : 0;
  }

  #file(
    reference: ModelReference,
    marks: FileMarks,
    { hubToken, hosts }: { hubToken: string | null; hosts: ImageHosts },
    onProgress: (what: string, fraction: number, totalBytes?: number) => void,
  ): Promise<string> {
    switch (reference.kind) {
      case 'demo':
        return Promise.resolve(this.demoModel);
      case 'file': {
        const { path } = reference;
        const watch: OnFetchProgress = (fraction) => onProgress('checking weights', fraction);
        return this.#fetches.once(`file:${path}:${marks[path]?.sha256}`, watch, (tell) =>
          checkFile(path, marks[path], tell),
        );
      }
      case 'url': {
        const watch: OnFetchProgress = (fraction, bytes) => onProgress('fetching weights', fraction, bytes);
        const { url } = reference;
        const space = (bytes: number): void => checkDiskSpace(this.folder, bytes);
        return this.#fetches.once(
          // A fetch with fewer allowed hosts must not share one with more.
          `${hosts} ${url}`,
          watch,
          (tell, signal) => fetchModel(url, this.folder, { onProgress: tell, checkRoom: space, hosts, signal }),
          () => this.isWanted(url),
        );
      }
      case 'hub': {
        const name = [reference.repository, ...(reference.variant === null ? [] : [reference.variant])].join(':');
        const watch: OnFetchProgress = (fraction, bytes) => onProgress('fetching weights', fraction, bytes);
        return this.#fetches.once(`hf:${name} ${hubToken}`, watch, (tell) => this.hub.fetch(name, hubToken, tell));
      }
    }
  }
}

/** Known sizes of an app's files. A file that is named several times counts once. */
class FileSizes {
  /** Rejects with the error of a later check. */
  readonly refused: Promise<never>;
  readonly #bytes = new Map<string, number>();
  #refuse: (reason: unknown) => void = () => {};

  constructor(private readonly onSize: (bytes: number) => void) {
    this.refused = new Promise((_, reject) => {
      this.#refuse = reject;
    });
    // There may be no waiter.
    this.refused.catch(() => {});
  }

  /** Returns whether the size grew. */
  note(reference: ModelReference, bytes: number): boolean {
    const key = JSON.stringify(reference);
    const known = this.#bytes.get(key) ?? 0;
    this.#bytes.set(key, Math.max(known, bytes));
    return bytes > known;
  }

  check(): void {
    this.onSize([...this.#bytes.values()].reduce((sum, bytes) => sum + bytes, 0));
  }

  /** For callbacks, which must not throw: `refused` rejects instead. */
  checkLater(): void {
    try {
      this.check();
    } catch (error) {
      this.#refuse(error);
    }
  }
}

function isFetched({ kind }: ModelReference): boolean {
  return kind !== 'demo';
}

export async function markOf(path: string, onProgress: (fraction: number) => void = () => {}): Promise<FileMark> {
  const { size } = fs.statSync(path);
  const hash = createHash('sha256');
  let read = 0;
  for await (const chunk of fs.createReadStream(path, { highWaterMark: 1 << 20 })) {
    hash.update(chunk as Buffer);
    read += (chunk as Buffer).length;
    onProgress(read / size);
  }
  return { size, sha256: hash.digest('hex') };
}

/** Verified files are not read again unless their size or time changes. */
const verified = new Map<string, string>();

async function checkFile(path: string, mark: FileMark | undefined, tell: (fraction: number) => void): Promise<string> {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  if (stat === undefined)
    throw new ChasquiError('model_file_missing', `The file ${path} does not exist on this machine.`);
  const known = `${mark?.sha256} ${stat.size} ${stat.mtimeMs}`;
  if (mark === undefined || verified.get(path) === known) return path;
  const { sha256 } = await markOf(path, tell);
  if (sha256 !== mark.sha256) {
    throw new ChasquiError('model_file_invalid', `The file ${path} has changed since the deployment. Deploy again.`);
  }
  verified.set(path, known);
  return path;
}

/** @throws {ChasquiError} `no_space`: the disk of this folder has less free space */
export function checkDiskSpace(folder: string, bytes: number): void {
  fs.mkdirSync(folder, { recursive: true });
  const { blocks, bavail, bsize } = fs.statfsSync(folder);
  const free = bavail * bsize - Math.min(MAX_RESERVE_BYTES, (blocks * bsize) / 20);
  if (bytes <= free) return;
  throw new ChasquiError('no_space', 'The disk of the cloud is too full for the model.');
}
