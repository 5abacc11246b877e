/** Determines the models of a server from its settings: files, names and options. */
import { realpathSync } from 'node:fs';
import path from 'node:path';
import { aliasesOf, type LoadOptions, modelIdOf } from '../engine/load-options.js';
import { ggufFilesIn } from '../engine/model-files.js';
import { ChasquiError, invalidOptions } from '../errors.js';

/** A model with its own options. */
export interface ModelPreset {
  id: string;
  /** Absent: the file of the model with this name. */
  file?: string;
  /** Override those of all models. */
  options: LoadOptions;
  /** Load it at the start; default false. */
  atStart?: boolean;
  /** Pin it, which includes loading it at the start; default false. */
  pin?: boolean;
  /** Default: that of all models; 0: never. */
  ttlMs?: number;
}

export interface ModelFiles {
  /** Model files to load at the start, as many as fit. */
  paths: readonly string[];
  folder?: string;
  /** Named models to load on demand; default none. */
  library?: readonly LibraryFile[];
  /** Default none. */
  presets?: readonly ModelPreset[];
  /** A model could not be loaded, or a file of the folder be read. */
  onFailure?(id: string, error: unknown): void;
}

export interface LibraryFile {
  id: string;
  path: string;
  projector: string | null;
}

export interface ModelSpec extends ModelPreset {
  file: string;
  aliases: string[];
}

/** A model file, which may occur twice. */
interface Candidate {
  id: string;
  file: string;
  options: LoadOptions;
  atStart: boolean;
}

/**
 * Returns each file once, in order, with all its names. Presets come first; their files are not shared.
 * @throws {ChasquiError} `invalid_options`
 */
export function modelSpecs(files: ModelFiles, options: LoadOptions): ModelSpec[] {
  const { presets = [] } = files;
  const { lora, ...common } = options;
  const specs = presets.flatMap(({ file, ...preset }): ModelSpec[] =>
    file === undefined ? [] : [{ ...preset, file, options: { ...common, ...preset.options }, aliases: [] }],
  );
  const byFile = new Map(specs.map((spec) => [realPath(spec.file), spec]));
  for (const { id, file, options: own, atStart } of candidatesIn(files, options)) {
    const known = byFile.get(realPath(file));
    if (known !== undefined) {
      if (known.id !== id && !known.aliases.includes(id)) known.aliases.push(id);
      known.options = { ...own, ...known.options };
      continue;
    }
    const preset = presets.find((each) => each.file === undefined && each.id === id);
    const spec: ModelSpec = {
      ...preset,
      options: { ...own, ...common, ...preset?.options },
      id,
      file,
      aliases: [...new Set(aliasesOf(options).slice(1))].filter((name) => name !== id),
      atStart: atStart || (preset?.atStart ?? false),
    };
    byFile.set(realPath(file), spec);
    specs.push(spec);
  }
  refuseFileless(presets, specs);
  return withAdapters(specs, lora);
}

/** Returns the spec of a model that joins the library later. Adapters are assigned at the start only. */
export function libraryModelSpecs(
  file: LibraryFile,
  { presets = [] }: Pick<ModelFiles, 'presets'>,
  { lora: _lora, ...options }: LoadOptions,
): ModelSpec[] {
  const own = presets.filter((preset) => preset.file === undefined && preset.id === file.id);
  return modelSpecs({ paths: [], library: [file], presets: own }, options);
}

function candidatesIn({ paths, folder, library = [], onFailure }: ModelFiles, options: LoadOptions): Candidate[] {
  const named = (atStart: boolean) => (file: string) => ({ id: modelIdOf(file, options), file, options: {}, atStart });
  const ofLibrary = library.map(({ id, path: file, projector }) => {
    return { id, file, options: { mmproj: projector }, atStart: false };
  });
  const inFolder = folder === undefined ? [] : modelsIn(folder, onFailure);
  return [...paths.map(named(true)), ...inFolder.map(named(false)), ...ofLibrary];
}

function refuseFileless(presets: readonly ModelPreset[], specs: readonly ModelSpec[]): void {
  const lost = presets.find(({ id, file }) => file === undefined && !specs.some((spec) => spec.id === id));
  if (lost === undefined) return;
  throw invalidOptions(
    `\`modelsPreset\` has a section [${lost.id}], but there is no such model: name its file there, as in model = file.gguf.`,
  );
}

/** Assigns adapters to models. With several models, the text begins with the model: `model:name=file`. */
function withAdapters(specs: readonly ModelSpec[], lora: readonly string[] = []): ModelSpec[] {
  const own = new Map<ModelSpec, string[]>();
  for (const text of lora) {
    const spec = specs.find(({ id }) => text.startsWith(`${id}:`) && text.slice(id.length).includes('=')) ?? null;
    const only = specs.length === 1 ? (specs[0] as ModelSpec) : null;
    const owner = spec ?? only;
    if (owner === null) {
      throw invalidOptions(
        `\`lora\` is ${text.slice(0, 100)}, but there are several models: say which one it is for, as in ` +
          `${specs[0]?.id}:name=file.gguf.`,
      );
    }
    const rest = spec === null ? text : text.slice(spec.id.length + 1);
    own.set(owner, [...(own.get(owner) ?? []), rest]);
  }
  return specs.map((spec) => {
    const adapters = [...(spec.options.lora ?? []), ...(own.get(spec) ?? [])];
    return adapters.length === 0 ? spec : { ...spec, options: { ...spec.options, lora: adapters } };
  });
}

/** Projectors and later parts of split models are no models of their own. */
const NO_MODEL = /^mmproj|[.-]mmproj\.gguf$|-(?!00001)\d{5}-of-\d{5}\.gguf$/i;

function modelsIn(folder: string, onFailure: ModelFiles['onFailure']): string[] {
  let found: ReturnType<typeof ggufFilesIn>;
  try {
    found = ggufFilesIn(folder);
  } catch (error) {
    throw invalidOptions(`\`modelsDir\` cannot be read: ${(error as Error).message}.`);
  }
  for (const name of found.broken) {
    onFailure?.(name, new ChasquiError('model_file_invalid', 'It is a link that leads to no file.'));
  }
  const names = found.files.filter((name) => !NO_MODEL.test(name));
  if (names.length > 0) return names.map((name) => path.join(folder, name));
  throw invalidOptions(`\`modelsDir\` is ${folder}, which has no file that ends in .gguf.`);
}

/** Returns broken paths unchanged: loading reports them. */
export function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}
