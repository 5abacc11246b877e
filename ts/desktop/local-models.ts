/** The models on this computer, as the app shows and loads them. */
import { ChasquiError } from '../errors.js';
import { type ImportKind, Library, type LibraryOptions } from '../hub/library.js';
import type { EventBus } from './event-bus.js';
import type { Instances } from './instances.js';
import { describeFile, type LocalModel } from './local-model.js';

export interface LocalModelsSettings {
  /** Where they are looked for now. */
  places(): LibraryOptions;
  /** Those that are there from the start, wherever they lie. */
  named: readonly LocalModel[];
  instances: Instances;
  events: EventBus;
}

/** A list is as good as new for so long: files that are put into a folder are found without a restart. */
const FRESH_MS = 3000;

export class LocalModels {
  readonly #settings: LocalModelsSettings;
  #library: Library;
  #named: readonly LocalModel[];
  #places = '';
  #shown = '';
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(settings: LocalModelsSettings) {
    this.#settings = settings;
    this.#library = new Library(settings.places());
    this.#named = settings.named;
  }

  /** Has a file be one of the models. Rejects with `model_file_missing` or `model_file_invalid`. */
  async name(file: string): Promise<void> {
    if (this.#settings.instances.models.some(({ path }) => path === file)) return;
    this.#named = [await describeFile(file), ...this.#named];
    await this.refresh();
  }

  async list(): Promise<readonly LocalModel[]> {
    if (performance.now() - this.#readAt > FRESH_MS) await this.refresh();
    return this.#settings.instances.models;
  }

  /** Looks for models again, and tells watchers when they have changed. */
  refresh(): Promise<void> {
    if (this.#reading === null) {
      this.#reading = this.#read().finally(() => {
        this.#reading = null;
      });
      return this.#reading;
    }
    // One that has begun may have passed by what the caller knows of.
    this.#next ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.refresh();
      });
    return this.#next;
  }

  /**
   * Resolves when the model is unloaded and its files are deleted. Rejects with what is against it. A model that was named
   * stays: the library deletes by id, and what it has by this id may be another file.
   */
  async remove(name: string): Promise<{ freedBytes: number }> {
    const { instances } = this.#settings;
    const model = instances.find(name);
    if (model.source === 'builtin') {
      throw new ChasquiError('not_deletable', `${model.id} came with chasqui and stays.`, 'model');
    }
    if (this.#named.some(({ path }) => path === model.path)) {
      const message = `${model.id} was given to chasqui by its file's name and stays: delete ${model.path} yourself.`;
      throw new ChasquiError('not_deletable', message, 'model');
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
    const { places, instances, events } = this.#settings;
    const named = this.#named;
    const present = places();
    if (JSON.stringify(present) !== this.#places) {
      this.#places = JSON.stringify(present);
      this.#library = new Library(present);
    }
    const found: LocalModel[] = await this.#library.list();
    const files = new Set(named.map((model) => model.path));
    // A name means one model: the one that was named goes before one that was found.
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
