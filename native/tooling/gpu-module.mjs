// Builds one GPU module of ggml in its own build directory, independent of the addon's build.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { ensureLlamaSource } from '../../vendor/llama-source.mjs';
import { SetupError, say } from '../../vendor/progress.mjs';
import { checkPrerequisites, runCmakeJs } from './cmake.mjs';

const root = path.resolve(fileURLToPath(import.meta.url), '..', '..', '..');

const backends = { vulkan: describeVulkan, cuda: describeCuda };
export const gpuBackends = Object.keys(backends);

/**
 * @returns {Promise<{ suffix: string, directory: string, file: string }>} suffix of the package's name, build directory,
 * and file name of the module in its folder Release
 */
export async function buildGpuModule(backend, { jobs, define = [] } = {}) {
  const { suffix, definitions } = backends[backend]();
  checkPrerequisites();
  const started = Date.now();
  const directory = path.join(root, 'build', suffix);
  fs.mkdirSync(directory, { recursive: true });
  fs.rmSync(path.join(directory, 'build.log'), { force: true });
  const all = [`CHASQUI_LLAMA_DIR=${ensureLlamaSource().dir}`, ...definitions, ...define];
  const run = (args, title) => runCmakeJs(args, { directory, jobs, title });
  await run(['configure', ...all.map((definition) => `--CD${definition}`)], `Configuring ${suffix}`);
  await run(['build', '--target', `ggml-${backend}`], `Building the module for ${suffix}`);
  say(`Built the module for ${suffix} in ${Math.round((Date.now() - started) / 1000)} s`);
  return { suffix, directory, file: process.platform === 'win32' ? `ggml-${backend}.dll` : `libggml-${backend}.so` };
}

function describeVulkan() {
  return { suffix: 'vulkan', definitions: ['GGML_VULKAN=ON'] };
}

/** A module works with one major version of the CUDA libraries, which is part of the package name. */
function describeCuda() {
  const { status, stdout } = spawnSync(process.env.CUDACXX ?? 'nvcc', ['--version'], { encoding: 'utf8' });
  const [, major, minor] = /release (\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  if (status !== 0 || !major) {
    throw new SetupError('nvcc was not found: install a CUDA toolkit, and put its bin on the PATH or nvcc in CUDACXX');
  }
  return {
    suffix: `cuda${major}`,
    definitions: ['GGML_CUDA=ON', `CMAKE_CUDA_ARCHITECTURES=${cudaTargets(+major, +minor)}`],
  };
}

/** Binary code for every generation since Ampere, and PTX for later ones. */
export function cudaTargets(major, minor) {
  const known = major * 100 + minor >= 1208 ? [80, 86, 89, 90, 120] : [80, 86, 89, 90];
  return [...known.map((each) => `${each}-real`), `${known.at(-1)}-virtual`].join(';');
}
