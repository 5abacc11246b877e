/** Finds ggml's modules. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BACKENDS } from '../options/load-option-table.js';

export type Backend = (typeof BACKENDS)[number];

export interface ModuleFile {
  /** Absolute. */
  path: string;
  /** `cpu-zen4` */
  name: string;
  backend: Backend;
}

export function findModules(directories: readonly string[]): ModuleFile[] {
  return directories.flatMap((directory) =>
    readdirSync(directory)
      .sort()
      .flatMap((entry) => toModule(directory, entry)),
  );
}

function toModule(directory: string, entry: string): ModuleFile[] {
  const [, name = '', backend] = /^(?:lib)?ggml-((cuda|metal|vulkan|cpu)(?:-[\w.]+)?)\.(?:so|dll)$/.exec(entry) ?? [];
  return backend ? [{ path: join(directory, entry), name, backend: backend as Backend }] : [];
}
