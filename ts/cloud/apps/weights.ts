/** Brings the files of a revision onto this machine: once, however many runners and revisions want them. */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { ChasquiError } from '../../errors.js';
import { fetchModel } from '../../hub/fetch-model.js';
import { filesIn, type Manifest, modelsIn } from '../script/manifest.js';
import type { ModelReference } from '../script/model-reference.js';
import type { HubFetcher } from './hub-weights.js';

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

interface Fetch {
  promise: Promise<string>;
  watchers: Set<(fraction: number) => void>;
}

export class WeightStore {
  readonly #running = new Map<string, Fetch>();

  /** `folder`: where what is fetched is kept. */
  constructor(
    private readonly folder: string,
    private readonly demoModel: string,
    private readonly hub: HubFetcher,
  ) {}

  /**
   * `hubToken` is the app's own. `onProgress` is told what is done, such as `fetching weights`, and how much of it.
   * @throws {ChasquiError} `model_file_missing`, `model_file_invalid`, `model_fetch_failed`
   */
  async fetch(
    manifest: Manifest,
    marks: FileMarks,
    hubToken: string | null,
    onProgress: (what: string, fraction: number) => void,
  ): Promise<Weights> {
    const total = filesIn(manifest).filter(isFetched).length;
    let number = 0;
    const one = (reference: ModelReference): Promise<string> => {
      if (isFetched(reference)) number += 1;
      const which = total > 1 ? ` ${number} of ${total},` : '';
      return this.#file(reference, marks, hubToken, (what, fraction) => onProgress(what + which, fraction));
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

  #file(
    reference: ModelReference,
    marks: FileMarks,
    hubToken: string | null,
    onProgress: (what: string, fraction: number) => void,
  ): Promise<string> {
    switch (reference.kind) {
      case 'demo':
        return Promise.resolve(this.demoModel);
      case 'file': {
        const { path } = reference;
        const watch = (fraction: number) => onProgress('checking weights', fraction);
        return this.#once(`file:${path}:${marks[path]?.sha256}`, watch, (tell) => checkFile(path, marks[path], tell));
      }
      case 'url': {
        const watch = (fraction: number) => onProgress('fetching weights', fraction);
        const { url } = reference;
        return this.#once(url, watch, (tell) => fetchModel(url, this.folder, { onProgress: tell }));
      }
      case 'hub': {
        const name = [reference.repository, ...(reference.variant === null ? [] : [reference.variant])].join(':');
        const watch = (fraction: number) => onProgress('fetching weights', fraction);
        return this.#once(`hf:${name} ${hubToken}`, watch, (tell) => this.hub.fetch(name, hubToken, tell));
      }
    }
  }

  /** Those who want the same file at the same time share one fetch. */
  #once(
    key: string,
    watch: (fraction: number) => void,
    begin: (tell: (fraction: number) => void) => Promise<string>,
  ): Promise<string> {
    let fetch = this.#running.get(key);
    if (fetch === undefined) {
      const watchers = new Set<(fraction: number) => void>();
      const promise = begin((fraction) => {
        for (const watcher of watchers) watcher(fraction);
      });
      const forget = () => this.#running.delete(key);
      promise.then(forget, forget);
      fetch = { promise, watchers };
      this.#running.set(key, fetch);
    }
    fetch.watchers.add(watch);
    return fetch.promise;
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
