// Builds one GPU module of ggml's alone, in a build directory of its own, so that the addon's build is left as it is.
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
 * @returns {Promise<{ suffix: string, directory: string, file: string }>} what the package's name ends in, the build
 * directory, and the module's name in its folder Release
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

/** A module works with the CUDA libraries of one major version only, which its package is named for. */
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

/** Code for every generation from Ampere on, and for those to come what the driver compiles at the first start. */
export function cudaTargets(major, minor) {
  const known = major * 100 + minor >= 1208 ? [80, 86, 89, 90, 120] : [80, 86, 89, 90];
  return [...known.map((each) => `${each}-real`), `${known.at(-1)}-virtual`].join(';');
}
