/** The validated settings of one model: sources of its files, and load options. */

import type { LoadOptions } from '../../engine/load-options.js';
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import { MAX_ADAPTER_SCALE } from '../../options/model-option-table.js';
import type { AdapterOptions, AppModel, MachineOptions } from './app.js';
import { type ModelReference, readModelReference, WANTED_MODEL } from './field-values.js';

export interface AdapterManifest {
  /** Requests select it as `<model>:<name>`. */
  readonly name: string;
  readonly file: ModelReference;
  readonly scale: number;
}

export interface ModelManifest {
  readonly model: ModelReference;
  readonly mmproj: ModelReference | null;
  readonly draftModel: ModelReference | null;
  /** Sorted by name. */
  readonly adapters: readonly AdapterManifest[];
  /** Without file paths, which are known after fetching. */
  readonly options: LoadOptions;
  readonly slots: number;
}

/** Requires validated options. */
export function toModelManifest(given: AppModel, machine: MachineOptions): ModelManifest {
  const { model, mmproj, draftModel, adapters = {}, context, slots = LOAD_OPTIONS.parallel.default, ...load } = given;
  return {
    model: reference(model),
    mmproj: mmproj === undefined ? null : reference(mmproj),
    draftModel: draftModel === undefined ? null : reference(draftModel),
    adapters: Object.entries(adapters)
      .map(([name, adapter]) => ({ name, ...toAdapter(adapter) }))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
    options: {
      alias: modelNameOf(reference(model)),
      ...load,
      parallel: slots,
      ...(context !== undefined && { contextSize: context }),
      ...(machine.cpu !== undefined && { threads: machine.cpu }),
      ...(machine.gpu === 0 && { gpuLayers: 0 }),
    },
    slots,
  };
}

export function referencesOf({ model, mmproj, draftModel, adapters }: ModelManifest): ModelReference[] {
  return [model, mmproj, draftModel, ...adapters.map(({ file }) => file)].filter((each) => each !== null);
}

export function isModelReference(value: unknown): value is string {
  return typeof value === 'string' && readModelReference(value) !== null;
}

/** Completes "must be". */
export const WANTED_ADAPTER =
  `${WANTED_MODEL}; or else an object with such a \`file\` and a \`scale\` from -${MAX_ADAPTER_SCALE} to ` +
  `${MAX_ADAPTER_SCALE}`;

export function isAdapter(value: unknown): boolean {
  if (isModelReference(value)) return true;
  if (typeof value !== 'object' || value === null) return false;
  const { file, scale = 1, ...rest } = value as { file?: unknown; scale?: unknown };
  const fits = typeof scale === 'number' && Math.abs(scale) <= MAX_ADAPTER_SCALE;
  return isModelReference(file) && fits && Object.keys(rest).length === 0;
}

function toAdapter(adapter: string | AdapterOptions): Omit<AdapterManifest, 'name'> {
  const { file, scale = 1 } = typeof adapter === 'string' ? { file: adapter } : adapter;
  return { file: reference(file), scale };
}

function reference(text: string): ModelReference {
  return readModelReference(text) as ModelReference;
}

function modelNameOf(model: ModelReference): string {
  switch (model.kind) {
    case 'demo':
      return 'chasqui-demo';
    case 'hub':
      return model.repository.replace(/^.*\//, '').replace(/-GGUF$/i, '');
    case 'url':
      return nameOfFile(decodeURIComponent(new URL(model.url).pathname));
    case 'file':
      return nameOfFile(model.path);
  }
}

function nameOfFile(path: string): string {
  return path.replace(/^.*[/\\]/, '').replace(/\.gguf$/i, '');
}
