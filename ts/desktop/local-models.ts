/** The list of models on this computer. */
import { existsSync } from 'node:fs';
import { ChasquiError } from '../errors.js';
import { type ImportKind, Library, type LibraryOptions } from '../hub/library.js';
import type { EventBus } from './event-bus.js';
import type { Instances } from './instances.js';
import { describeFile, type LocalModel } from './local-model.js';

export interface LocalModelsSettings {
  /** Evaluated at each scan. */
  places(): LibraryOptions;
  /** Models given at start, anywhere on disk. */
  named: readonly LocalModel[];
  instances: Instances;
  events: EventBus;
}

/** Maximum age of the list; new files appear without a restart. */
const FRESH_MS = 3000;

export class LocalModels {
  #library: Library;
  #named: readonly LocalModel[];
  #places = '';
  #shown = '';
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(private readonly settings: LocalModelsSettings) {
    this.#library = new Library(settings.places());
    this.#named = settings.named;
  }

  /** Adds a file to the list. Rejects with `model_file_missing` or `model_file_invalid`. */
  async name(file: string): Promise<void> {
    if (this.settings.instances.models.some(({ path }) => path === file)) return;
    this.#named = [await describeFile(file), ...this.#named];
    await this.refresh();
  }

  async list(): Promise<readonly LocalModel[]> {
    if (performance.now() - this.#readAt > FRESH_MS) await this.refresh();
    return this.settings.instances.models;
  }

  /** Scans again, and notifies watchers of changes. */
  refresh(): Promise<void> {
    if (this.#reading === null) {
      this.#reading = this.#read().finally(() => {
        this.#reading = null;
      });
      return this.#reading;
    }
    // A scan in progress may have missed the caller's change.
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.refresh();
      });
    return this.#next;
  }

  /** Scans again if the file of this model is gone. */
  async check(name: string): Promise<void> {
    const found = this.settings.instances.models.find(({ id, path }) => id === name || path === name);
    if (found !== undefined && !existsSync(found.path)) await this.refresh();
  }

  /**
   * Unloads a model and deletes its files. Rejects if it may not be deleted: models given by path, because the library
   * deletes by id, and that id may be another file.
   */
  async remove(name: string): Promise<{ freedBytes: number }> {
    const { instances } = this.settings;
    const model = instances.find(name);
    if (model.source === 'builtin') {
      throw new ChasquiError('not_deletable', `${model.id} is part of chasqui and cannot be deleted.`, 'model');
    }
    if (this.#named.some(({ path }) => path === model.path)) {
      throw new ChasquiError('not_deletable', `${model.id} was given by path. Delete ${model.path} yourself.`, 'model');
    }
    if (model.canDelete) await instances.unloadAll(model.id);
    const freed = await this.#library.remove(model.id);
    await this.refresh();
    return freed;
  }

  async import(file: string, how: ImportKind): Promise<LocalModel> {
    const imported = await this.#library.import(file, how);
    await this.refresh();
    return imported;
  }

  async #read(): Promise<void> {
    const { places, instances, events } = this.settings;
    const named = this.#named;
    const present = places();
    if (JSON.stringify(present) !== this.#places) {
      this.#places = JSON.stringify(present);
      this.#library = new Library(present);
    }
    const found: LocalModel[] = await this.#library.list();
    const files = new Set(named.map((model) => model.path));
    // Names are unique: a given model hides a found one.
    const byId = new Map(
      [...named, ...found.filter(({ path }) => !files.has(path))].toReversed().map((each) => [each.id, each]),
    );
    const models = [...found, ...named].filter((each) => byId.get(each.id) === each);
    this.#readAt = performance.now();
    const shown = JSON.stringify(models);
    if (shown === this.#shown) return;
    this.#shown = shown;
    instances.know(models);
    events.publish('library', {});
  }
}
