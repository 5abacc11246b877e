/** The backend of all subjects in a comparison: the CPU, or a GPU through one of ggml's modules. */
import fs from 'node:fs';
import path from 'node:path';
// @ts-expect-error: plain JavaScript, because it runs before anything is installed.
import { buildGpuModule, gpuBackends } from '../../native/tooling/gpu-module.mjs';
import { root } from '../../test/support/places.js';

export const backends = ['cpu', 'cuda', 'vulkan', 'metal'] as const;
export type BackendName = (typeof backends)[number];

export interface ChosenBackend {
  name: BackendName;
  /** Path of the GPU module. */
  module?: string;
  /** CMake definitions of llama.cpp's build in addition to those for the CPU. */
  definitions: Record<string, string>;
}

export function isBackend(name: string): name is BackendName {
  return (backends as readonly string[]).includes(name);
}

/**
 * Builds the module if it is missing or out of date, unless `CHASQUI_MODULES` names a folder that contains it. Sets that
 * variable for this process and its children.
 */
export async function chooseBackend(name: BackendName): Promise<ChosenBackend> {
  if (name === 'cpu') return { name, definitions: {} };
  const module = moduleFile(process.env.CHASQUI_MODULES, name) ?? (await buildModule(name));
  process.env.CHASQUI_MODULES = path.dirname(module);
  return { name, module, definitions: { [`GGML_${name.toUpperCase()}`]: 'ON' } };
}

async function buildModule(name: Exclude<BackendName, 'cpu'>): Promise<string> {
  // The Metal module is built with the addon.
  const own = moduleFile(path.join(root, 'build', 'Release'), name);
  if (own !== undefined) return own;
  if (!(gpuBackends as string[]).includes(name)) throw new Error(`there is no module for ${name} on this system`);
  const { directory, file } = (await buildGpuModule(name)) as { directory: string; file: string };
  return path.join(directory, 'Release', file);
}

function moduleFile(folder: string | undefined, name: string): string | undefined {
  const file = path.join(folder ?? '', `libggml-${name}.so`);
  return folder !== undefined && fs.existsSync(file) ? file : undefined;
}
