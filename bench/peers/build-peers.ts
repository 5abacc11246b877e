/**
 * Builds the peers from the llama.cpp commit that chasqui contains: llama-server, llama-bench, llama-batched-bench, and
 * llama-quantize for the models. They are never shipped.
 *
 * The only patch applied to them is the one that prevents a crash with quantized weights. Compiler options and CPU
 * instructions equal those of chasqui's module for this machine.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
// @ts-expect-error: plain JavaScript, because it runs before anything is installed.
import { chooseVariants, listVariants } from '../../native/tooling/cpu-variants.mjs';
import { root } from '../../test/support/places.js';
// @ts-expect-error: the same.
import { ensureLlamaSource, manifest } from '../../vendor/llama-source.mjs';
import { killAtExit } from '../kill-at-exit.js';
import type { ChosenBackend } from './backend.js';
import { peersFolder } from './places.js';

const measured = ['llama-server', 'llama-bench', 'llama-batched-bench', 'llama-quantize'] as const;
type Program = (typeof measured)[number] | 'llama-perplexity' | 'llama-tokenize';
const neededPatch = path.join(root, 'vendor', 'patches', '0001-amx-tile-configuration.patch');
const sourceFolder = path.join(peersFolder, 'llama.cpp');

export interface Peers {
  /** Build settings for the footer of the table. */
  description: string;
  pathOf(program: Program): string;
}

/** Builds the programs that are missing or out of date, at low priority. The first build takes minutes. */
export async function buildPeers(backend: ChosenBackend, targets: readonly Program[] = measured): Promise<Peers> {
  const vendored = ensureLlamaSource().dir as string;
  const instructions = instructionSet(vendored);
  const definitions = cmakeDefinitions(instructions, backend);
  const suffix = backend.name === 'cpu' ? '' : `-${backend.name}`;
  const buildFolder = path.join(peersFolder, `build${suffix}`);
  const stampFile = path.join(peersFolder, `stamp${suffix}`);
  const stamp = stampOf(definitions);
  const pathOf = (program: string) => path.join(buildFolder, 'bin', program);
  const isCurrent = readIfThere(stampFile) === stamp;
  if (!isCurrent || !targets.every((target) => fs.existsSync(pathOf(target)))) {
    fs.rmSync(stampFile, { force: true });
    if (!isCurrent) {
      fs.rmSync(path.join(buildFolder, 'bin'), { recursive: true, force: true });
      materialiseSource();
    }
    await run('cmake', ['-S', sourceFolder, '-B', buildFolder, '-G', 'Ninja', ...definitions]);
    await run('ninja', ['-C', buildFolder, ...targets]);
    fs.writeFileSync(stampFile, stamp);
  }
  const gpu = backend.name === 'cpu' ? '' : `, with ${backend.name}`;
  const description = `llama.cpp ${manifest.release} (${manifest.commit.slice(0, 8)}) with no patch but ${path.basename(neededPatch)}, -O3, ${instructions ? `CPU features ${instructions.join(' ')}` : 'GGML_NATIVE'}, no OpenMP${gpu}`;
  return { description, pathOf };
}

/** CPU features of the module that chasqui selects on this machine; `undefined` if they cannot be detected. */
function instructionSet(llamaDir: string): string[] | undefined {
  if (process.arch !== 'x64') return undefined;
  const best = (chooseVariants(llamaDir) as string).split(',')[0];
  const cmake = fs.readFileSync(path.join(llamaDir, 'ggml', 'src', 'CMakeLists.txt'), 'utf8');
  const variants = listVariants(cmake, process.arch) as { name: string; needs: string[] }[];
  return variants.find(({ name }) => name === best)?.needs;
}

function cmakeDefinitions(instructions: string[] | undefined, backend: ChosenBackend): string[] {
  const values: Record<string, string> = {
    CMAKE_BUILD_TYPE: 'Release',
    BUILD_SHARED_LIBS: 'OFF',
    GGML_NATIVE: instructions ? 'OFF' : 'ON',
    GGML_OPENMP: 'OFF',
    LLAMA_OPENSSL: 'OFF',
    LLAMA_USE_PREBUILT_UI: 'OFF',
    LLAMA_BUILD_TESTS: 'OFF',
    LLAMA_BUILD_EXAMPLES: 'OFF',
    LLAMA_BUILD_APP: 'OFF',
  };
  for (const feature of instructions ?? []) values[`GGML_${feature}`] = 'ON';
  Object.assign(values, backend.definitions);
  return Object.entries(values).map(([name, value]) => `-D${name}=${value}`);
}

function stampOf(definitions: string[]): string {
  const hash = createHash('sha256').update(JSON.stringify([manifest.integrity, definitions]));
  return hash.update(fs.readFileSync(neededPatch)).digest('hex');
}

/** Unpacks a second copy of the package, because chasqui's copy is patched and lacks the server's web page. */
function materialiseSource(): void {
  const archive = path.join(root, 'vendor', '.cache', `${manifest.package}-${manifest.version}.tgz`);
  if (!fs.existsSync(archive)) {
    throw new Error(`${archive} is gone: remove vendor/llama.cpp and run "npm run build" to fetch it again`);
  }
  fs.rmSync(sourceFolder, { recursive: true, force: true });
  fs.mkdirSync(peersFolder, { recursive: true });
  const member = `package/${manifest.bundle}`;
  execFileSync('tar', ['-xzf', archive, member], { cwd: peersFolder });
  const clone = ['-c', 'core.autocrlf=false', '-c', 'advice.detachedHead=false', 'clone', '--quiet'];
  execFileSync('git', [...clone, member, sourceFolder], { cwd: peersFolder });
  fs.rmSync(path.join(peersFolder, 'package'), { recursive: true });
  execFileSync('git', ['apply', '--ignore-whitespace', neededPatch], { cwd: sourceFolder });
}

async function run(command: string, args: string[]): Promise<void> {
  console.error(`${command} ${args.join(' ')}`);
  const child = spawn('nice', ['-n', '10', command, ...args], { stdio: ['ignore', 2, 2] });
  killAtExit(child);
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('exit', resolve));
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
}

function readIfThere(file: string): string | undefined {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
}
