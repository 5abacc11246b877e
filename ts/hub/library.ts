/** The models on this computer, from all folders. */
import fs from 'node:fs';
import path from 'node:path';
import { type GgufHeader, readGgufFile, sizeIn } from '../engine/gguf-header.js';
import { ChasquiError } from '../errors.js';
import { findInCache, removeFromCache } from './find-in-cache.js';
import { type FoundModel, findInFolder, findOfLmStudio, findOfOllama, sizeOf } from './find-in-folders.js';
import type { Capability } from './hub-types.js';
import { type ImportKind, importModel } from './import-model.js';
import type { LibraryPlaces } from './library-places.js';
import { parseModelName } from './model-name.js';

export type { ModelSource } from './find-in-folders.js';
export type { ImportKind } from './import-model.js';

/** Values of the reasoning switch of LM Studio's lists. */
export type Reasoning = 'off' | 'on' | 'low' | 'medium' | 'high';

export interface LocalModel extends Omit<FoundModel, 'files'> {
  /** Path of the file to load; the first part of a split model. */
  path: string;
  /** All files of the model and its projector. */
  sizeBytes: number;
  architecture: string | null;
  parameters: number | null;
  contextLength: number | null;
  /** Share of the weights that decoding a token reads. */
  activeShare: number;
  capabilities: Capability[];
  /** Values that requests can choose. */
  reasoning: Reasoning[];
}

export interface LibraryOptions extends LibraryPlaces {
  /** Target folder of imports; always searched. */
  importFolder: string;
}

/** Header data of a file with this size and mtime; `null` if it is not a model. */
interface KnownHeader {
  size: number;
  mtimeMs: number;
  header: GgufHeader | null;
}

export class Library {
  /** Keyed by path. */
  readonly #headers = new Map<string, KnownHeader>();

  constructor(private readonly options: LibraryOptions) {}

  /** Lists complete, valid models, sorted by name. */
  async list(): Promise<LocalModel[]> {
    const models: LocalModel[] = [];
    const all = this.#find();
    for (const found of all) {
      const model = await this.#describe(found);
      if (model !== null) models.push(model);
    }
    const there = new Set(all.flatMap(({ files, projector }) => [files[0], projector]));
    for (const file of this.#headers.keys()) if (!there.has(file)) this.#headers.delete(file);
    return models.sort((one, other) => one.id.localeCompare(other.id));
  }

  /** Finds a model by id or path. */
  async find(id: string): Promise<LocalModel | undefined> {
    const found = this.#find().find((each) => each.id === id) ?? this.#find().find(({ files }) => files[0] === id);
    return found && ((await this.#describe(found)) ?? undefined);
  }

  /**
   * Finds a downloaded model by its name in the hub, from any revision of its repository.
   * @throws {ChasquiError} `invalid_model_name`
   */
  async findOfHub(name: string): Promise<LocalModel | undefined> {
    const { repo, tag } = parseModelName(name);
    const own = (await this.list()).filter((model) => model.repo?.toLowerCase() === repo.toLowerCase());
    const wanted = (tag ?? 'Q4_K_M').toLowerCase();
    const isWanted = ({ quantisation, path: file }: LocalModel) =>
      quantisation?.toLowerCase() === wanted || file.toLowerCase().endsWith(`/${wanted}`);
    return own.find(isWanted) ?? (tag === null && own.length === 1 ? own[0] : undefined);
  }

  /**
   * Deletes the files of a model, except those shared with other models.
   * @throws {ChasquiError} `local_model_not_found`; `not_deletable` for models of other programs.
   */
  async remove(id: string): Promise<{ freedBytes: number }> {
    const found = this.#find().find((each) => each.id === id);
    if (found === undefined) {
      throw new ChasquiError('local_model_not_found', `Model ${id.slice(0, 200)} not found on this computer.`, 'model');
    }
    if (!found.canDelete) {
      const program = found.source === 'ollama' ? 'Ollama' : 'LM Studio';
      throw new ChasquiError('not_deletable', `${id} belongs to ${program}. Delete it there.`, 'model');
    }
    if (found.source === 'hub') return { freedBytes: removeFromCache(this.options.cacheFolder, found) };
    const isShared = this.#find().some(
      (each) => each.projector === found.projector && each.files[0] !== found.files[0],
    );
    const files = [...found.files, ...(found.projector === null || isShared ? [] : [found.projector])];
    return { freedBytes: files.reduce((sum, file) => sum + removeFile(file), 0) };
  }

  /**
   * Imports a model's file with its other parts and its projector.
   * @throws {ChasquiError} `model_file_missing`, `model_file_invalid`, `no_space`, `download_failed`.
   */
  async import(
    file: string,
    how: ImportKind,
    replaces = false,
    onProgress?: (fraction: number) => void,
  ): Promise<LocalModel> {
    const imported = await importModel(path.resolve(file), how, this.options.importFolder, replaces, onProgress);
    const found = this.#find().find(({ files }) => files[0] === imported);
    const model = found && (await this.#describe(found));
    if (!model) throw new ChasquiError('model_file_invalid', `${file} was imported, but is not a valid model.`);
    return model;
  }

  /** Deduplicates by the real path of the file. */
  #find(): FoundModel[] {
    const { cacheFolder, lmStudioFolders, ollamaFolders, folders, importFolder } = this.options;
    const found = [
      ...findInCache(cacheFolder),
      ...[...new Set([importFolder, ...folders])].flatMap((folder) => findInFolder(folder)),
      ...lmStudioFolders.flatMap(findOfLmStudio),
      ...ollamaFolders.flatMap(findOfOllama),
    ];
    return withOwnIds(withoutRepeats(found));
  }

  async #describe(found: FoundModel): Promise<LocalModel | null> {
    const { files, projector, ...rest } = found;
    const header = await this.#header(files[0] as string);
    if (header === null) return null;
    const sees = projector !== null && encodersIn(await this.#header(projector)).includes('vision');
    const all = [...files, ...(projector === null ? [] : [projector])];
    return {
      ...rest,
      path: files[0] as string,
      projector,
      sizeBytes: all.reduce((sum, file) => sum + (sizeOf(file) ?? 0), 0),
      ...describeHeader(header, sees, files.length > 1),
    };
  }

  /** Returns `null` if the file is not a model. */
  async #header(file: string): Promise<GgufHeader | null> {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return null;
    const { size, mtimeMs } = stat;
    const known = this.#headers.get(file);
    if (known?.size === size && known.mtimeMs === mtimeMs) return known.header;
    const header = await readGgufFile(file).catch(() => null);
    this.#headers.set(file, { size, mtimeMs, header });
    return header;
  }
}

type Description = Pick<
  LocalModel,
  'architecture' | 'parameters' | 'contextLength' | 'activeShare' | 'capabilities' | 'reasoning'
>;

export type Encoder = 'vision' | 'audio';

/** The encoders of a projector: of images, unless its header says otherwise. */
export function encodersIn(projector: GgufHeader | null): readonly Encoder[] {
  const has = (encoder: Encoder) => projector?.metadata.get(`clip.has_${encoder}_encoder`) === true;
  return [...(has('vision') || !has('audio') ? ['vision' as const] : []), ...(has('audio') ? ['audio' as const] : [])];
}

/** The header of a split model's first part lists only some of the tensors. */
export function describeHeader(header: GgufHeader, seesImages: boolean, inParts: boolean): Description {
  const { metadata, parameters, activeShare } = header;
  const architecture = metadata.get('general.architecture');
  const template = metadata.get('tokenizer.chat_template');
  const capabilities: Capability[] = [];
  if (typeof template === 'string') capabilities.push('chat');
  if (typeof template === 'string' && template.includes('tools')) capabilities.push('tools');
  if (seesImages) capabilities.push('vision');
  if (metadata.has(`${architecture}.pooling_type`)) capabilities.push('embeddings');
  return {
    architecture: typeof architecture === 'string' ? architecture.slice(0, 100) : null,
    parameters: inParts || parameters === 0 ? null : parameters,
    contextLength: sizeIn(header, 'context_length'),
    activeShare,
    capabilities,
    reasoning: typeof template === 'string' ? reasoningOf(template) : [],
  };
}

/** The variables that templates of reasoning models read. */
function reasoningOf(template: string): Reasoning[] {
  return [
    ...(template.includes('enable_thinking') ? (['off', 'on'] as const) : []),
    ...(template.includes('reasoning_effort') ? (['low', 'medium', 'high'] as const) : []),
  ];
}

function withoutRepeats(found: readonly FoundModel[]): FoundModel[] {
  const seen = new Set<string>();
  return found.filter(({ files }) => {
    const file = realPath(files[0] as string);
    return !seen.has(file) && seen.add(file);
  });
}

/** Prefixes duplicate names with their folder. */
function withOwnIds(found: readonly FoundModel[]): FoundModel[] {
  const count = new Map<string, number>();
  for (const { id } of found) count.set(id, (count.get(id) ?? 0) + 1);
  return found.map((model) => {
    if (count.get(model.id) === 1 || model.source === 'hub') return model;
    return { ...model, id: `${path.basename(path.dirname(model.files[0] as string))}/${model.id}` };
  });
}

function realPath(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file;
  }
}

/** Returns 0 for links: their target remains. */
function removeFile(file: string): number {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  fs.rmSync(file);
  const folder = path.dirname(file);
  if (fs.readdirSync(folder).length === 0) fs.rmdirSync(folder);
  return stat.isFile() && stat.nlink === 1 ? stat.size : 0;
}
