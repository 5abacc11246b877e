/** Brings the files of a revision onto this machine: once, however many runners and revisions want them. */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { sizeOfModel } from '../../engine/model-files.js';
import { ChasquiError } from '../../errors.js';
import { fetchModel } from '../../hub/fetch-model.js';
import type { ImageHosts } from '../../images/public-address.js';
import { filesIn, type Manifest, modelsIn } from '../script/manifest.js';
import type { ModelReference } from '../script/model-reference.js';
import { checkRoom } from './fetched-parts.js';
import type { HubFetcher, TellFetched } from './hub-weights.js';
import { SharedFetches } from './shared-fetches.js';

/** Size and SHA-256 of a file, when it was deployed. */
export interface FileMark {
  size: number;
  sha256: string;
}

/** By the path of the file. */
export type FileMarks = Readonly<Record<string, FileMark>>;

/** The paths of a model's files. */
export interface ModelWeights {
  model: string;
  mmproj: string | null;
  draftModel: string | null;
  /** In the order of the manifest's. */
  adapters: readonly string[];
}

/** Of all models of an app, in their order. */
export type Weights = readonly ModelWeights[];

export interface FetchWatcher {
  /** What is done, such as `fetching weights`, and how much of it, from 0 to 1. */
  onProgress(what: string, fraction: number): void;
  /**
   * Told how many bytes the files have together, as far as that is known, and again when it is more. What it throws ends
   * the fetch for this app; a file of a hub that is on its way comes all the same, for whoever wants it next.
   */
  checkSize?(bytes: number): void;
}

export class WeightStore {
  readonly #fetches = new SharedFetches();

  /**
   * `folder`: where what is fetched is kept. `isWanted` says whether a revision still wants what is at an address; a fetch
   * that none wants is ended.
   */
  constructor(
    private readonly folder: string,
    private readonly demoModel: string,
    private readonly hub: HubFetcher,
    private readonly isWanted: (url: string) => boolean = () => true,
  ) {}

  /** Ends what is fetched from addresses. Nobody hears of it, so that the next control plane goes on with it. */
  close(): Promise<void> {
    return this.#fetches.close();
  }

  /**
   * `hubToken` is the app's own; `hosts` are those that addresses may lead to.
   * @throws {ChasquiError} `model_file_missing`, `model_file_invalid`, `model_fetch_failed`, and what the watcher throws
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
    const orNull = async (reference: ModelReference | null) => (reference === null ? null : one(reference));
    const all: ModelWeights[] = [];
    for (const { model, mmproj, draftModel, adapters } of modelsIn(manifest)) {
      const files = { model: await one(model), mmproj: await orNull(mmproj), draftModel: await orNull(draftModel) };
      const paths: string[] = [];
      for (const { file } of adapters) paths.push(await one(file));
      all.push({ ...files, adapters: paths });
    }
    return all;
  }

  /** What is known before anything is fetched: the size of a file on this machine, and 0 of all others. */
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
        const watch: TellFetched = (fraction) => onProgress('checking weights', fraction);
        return this.#fetches.once(`file:${path}:${marks[path]?.sha256}`, watch, (tell) =>
          checkFile(path, marks[path], tell),
        );
      }
      case 'url': {
        const watch: TellFetched = (fraction, bytes) => onProgress('fetching weights', fraction, bytes);
        const { url } = reference;
        const room = (bytes: number): void => checkRoom(this.folder, bytes);
        return this.#fetches.once(
          // Who may reach less has no part in a fetch of who may reach more.
          `${hosts} ${url}`,
          watch,
          (tell, signal) => fetchModel(url, this.folder, { onProgress: tell, checkRoom: room, hosts, signal }),
          () => this.isWanted(url),
        );
      }
      case 'hub': {
        const name = [reference.repository, ...(reference.variant === null ? [] : [reference.variant])].join(':');
        const watch: TellFetched = (fraction, bytes) => onProgress('fetching weights', fraction, bytes);
        return this.#fetches.once(`hf:${name} ${hubToken}`, watch, (tell) => this.hub.fetch(name, hubToken, tell));
      }
    }
  }
}

/** What is known of the sizes of an app's files, of which each counts once however often it is named. */
class FileSizes {
  /** Rejects with what a check that came later threw. */
  readonly refused: Promise<never>;
  readonly #bytes = new Map<string, number>();
  #refuse: (reason: unknown) => void = () => {};

  constructor(private readonly onSize: (bytes: number) => void) {
    this.refused = new Promise((_, reject) => {
      this.#refuse = reject;
    });
    // Nobody may be waiting for it.
    this.refused.catch(() => {});
  }

  /** Returns whether that is more than was known. */
  note(reference: ModelReference, bytes: number): boolean {
    const key = JSON.stringify(reference);
    const known = this.#bytes.get(key) ?? 0;
    this.#bytes.set(key, Math.max(known, bytes));
    return bytes > known;
  }

  check(): void {
    this.onSize([...this.#bytes.values()].reduce((sum, bytes) => sum + bytes, 0));
  }

  /** For those who are told of a size and must not throw. */
  checkLater(): void {
    try {
      this.check();
    } catch (error) {
      this.#refuse(error);
    }
  }
}

/** The model in the package is there. */
function isFetched({ kind }: ModelReference): boolean {
  return kind !== 'demo';
}

/** Size and digest of a file. */
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

/** Files that were found right are not read again while they stay as they are. */
const right = new Map<string, string>();

async function checkFile(path: string, mark: FileMark | undefined, tell: (fraction: number) => void): Promise<string> {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new ChasquiError('model_file_missing', `There is no file ${path} on this machine.`);
  const known = `${mark?.sha256} ${stat.size} ${stat.mtimeMs}`;
  if (mark === undefined || right.get(path) === known) return path;
  const { sha256 } = await markOf(path, tell);
  if (sha256 !== mark.sha256) {
    throw new ChasquiError(
      'model_file_invalid',
      `The file ${path} is another one than when it was deployed: deploy again.`,
    );
  }
  right.set(path, known);
  return path;
}
