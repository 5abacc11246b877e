// Builds the addon: node native/tooling/build.mjs [options]. Does nothing if it is up to date.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureLlamaSource } from '../../vendor/llama-source.mjs';
import { withSetupLock } from '../../vendor/lock.mjs';
import { runScript, SetupError, say } from '../../vendor/progress.mjs';
import { checkPrerequisites, runCmakeJs } from './cmake.mjs';
import { chooseVariants } from './cpu-variants.mjs';

const root = path.resolve(fileURLToPath(import.meta.url), '..', '..', '..');
/** Such as `linux-arm64`, to cross-compile with the toolchain of that name in this folder. */
const crossTarget = process.env.CHASQUI_TARGET;
export const buildDir = path.join(root, crossTarget ? `build-${crossTarget}` : 'build');
const addon = path.join(buildDir, 'Release', 'chasqui.node');
const stampFile = path.join(buildDir, 'stamp');
const optionsFile = path.join(buildDir, 'options.json');
const configuredFile = path.join(buildDir, 'configured');
const backends = ['cuda', 'vulkan'];

const help = `Usage: node native/tooling/build.mjs [options]

  --backend <name>   build a GPU module as well: ${backends.join(', ')} (repeatable)
  --all-variants     build every CPU module, not only those this machine can use
  --define <N=V>     pass a definition to CMake (repeatable)
  --bench            build the bench's programs as well
  --jobs <n>         run n compilers at a time
  --defaults         forget the options of the last build
  --once             neither use the options of the last build nor remember these

Options other than --bench and --jobs are remembered for the next build, that of npm start included.
CHASQUI_LLAMA_DIR=<folder> builds against another llama.cpp checkout; CHASQUI_WERROR=1 makes warnings in our own
sources errors.`;

export function showHelp() {
  console.log(help);
}

const argumentTypes = {
  backend: { type: 'string', multiple: true, default: [] },
  'all-variants': { type: 'boolean', default: false },
  define: { type: 'string', multiple: true, default: [] },
  bench: { type: 'boolean', default: false },
  jobs: { type: 'string' },
  defaults: { type: 'boolean', default: false },
  once: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

/** Builds what is out of date; without options, with those of the last build. */
export async function buildNative(args = []) {
  const options = readOptions(args);
  const llama = ensureLlamaSource();
  const definitions = cmakeDefinitions(options, llama.dir);
  const stamp = sourceStamp(definitions, llama.stamp);
  if (isUpToDate(stamp) && !options.bench) return;
  checkPrerequisites();
  fs.mkdirSync(buildDir, { recursive: true });
  if (!isUpToDate(stamp)) await compile({ definitions, options, stamp, llamaStamp: llama.stamp });
  for (const program of options.bench ? ['bare-loop', 'machine-limits', 'products'] : []) {
    await cmake(['build', '--target', program], options, `Building ${program}`);
  }
}

function readOptions(args) {
  let values;
  try {
    ({ values } = parseArgs({ args, options: argumentTypes }));
  } catch (error) {
    throw new SetupError(`${error.message}\n\n${help}`);
  }
  const unknown = values.backend.find((name) => !backends.includes(name));
  if (unknown) throw new SetupError(`--backend ${unknown} is unknown; there are ${backends.join(' and ')}`);
  const { bench, jobs, defaults, once, help: _, ...kept } = values;
  const given = kept.backend.length + kept.define.length > 0 || kept['all-variants'];
  const remembered = given || defaults || once ? kept : { ...kept, ...readJson(optionsFile) };
  return { ...remembered, bench, jobs, once };
}

function cmakeDefinitions(options, llamaDir) {
  const arch = crossTarget?.split('-')[1] ?? process.arch;
  const variants = options['all-variants'] ? 'all' : chooseVariants(llamaDir, arch);
  const definitions = [`CHASQUI_LLAMA_DIR=${llamaDir}`, `CHASQUI_CPU_VARIANTS=${variants}`];
  for (const name of options.backend) definitions.push(`GGML_${name.toUpperCase()}=ON`);
  if (crossTarget) {
    definitions.push(`CMAKE_TOOLCHAIN_FILE=${path.join(root, 'native', 'tooling', `${crossTarget}.cmake`)}`);
  }
  if (process.env.CHASQUI_WERROR) definitions.push('CHASQUI_WERROR=ON');
  if (fs.existsSync(path.join(root, 'bench', 'native'))) definitions.push('CHASQUI_BENCH=ON');
  return [...definitions, ...options.define];
}

function sourceStamp(definitions, llamaStamp) {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([process.platform, process.arch, packageVersion(), definitions, llamaStamp]));
  const native = fs
    .readdirSync(path.join(root, 'native'), { recursive: true })
    .map((name) => path.join('native', name));
  for (const name of [...native, 'CMakeLists.txt'].sort()) {
    const file = path.join(root, name);
    if (/\.(cpp|h|cmake|map|txt)$/.test(name)) hash.update(`${name}\0`).update(fs.readFileSync(file));
  }
  return hash.digest('hex');
}

function packageVersion() {
  return JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')).version;
}

function isUpToDate(stamp) {
  // An external checkout has no stamp: only the build tool detects its changes.
  if (process.env.CHASQUI_LLAMA_DIR) return false;
  return fs.existsSync(addon) && readText(stampFile) === stamp;
}

async function compile({ definitions, options, stamp, llamaStamp }) {
  const started = Date.now();
  fs.rmSync(stampFile, { force: true });
  fs.rmSync(path.join(buildDir, 'build.log'), { force: true });
  const { bench, jobs, once, ...remembered } = options;
  if (!once) fs.writeFileSync(optionsFile, JSON.stringify(remembered));
  const first = !fs.existsSync(addon);
  const configuration = JSON.stringify([root, packageVersion(), llamaStamp, definitions]);
  if (readText(configuredFile) !== configuration) {
    // Remove definitions that are no longer set from CMake's cache, and CPU modules that are no longer built, which ggml
    // would load whatever their version. Objects stay, so this costs seconds.
    fs.rmSync(path.join(buildDir, 'CMakeCache.txt'), { force: true });
    fs.rmSync(path.dirname(addon), { recursive: true, force: true });
    await cmake(['configure', ...definitions.map((definition) => `--CD${definition}`)], options, 'Configuring');
    fs.writeFileSync(configuredFile, configuration);
  }
  say(`Building the native addon${first ? ' (the first time takes minutes)' : ''} ...`);
  await cmake(['build'], options, 'Building the native addon');
  fs.writeFileSync(stampFile, stamp);
  say(`Built the native addon in ${Math.round((Date.now() - started) / 1000)} s`);
}

function cmake(args, { jobs }, title) {
  return runCmakeJs(args, { directory: buildDir, jobs, title });
}

function readText(file) {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
}

function readJson(file) {
  return JSON.parse(readText(file) ?? '{}');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const args = process.argv.slice(2);
  await runScript(() => (args.includes('--help') ? showHelp() : withSetupLock(() => buildNative(args))));
}
