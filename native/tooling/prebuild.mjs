// Builds the contents of npm packages: prebuilds/<platform>-<arch>/, or prebuilds/<platform>-<arch>-<backend>/ for a GPU.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { withSetupLock } from '../../vendor/lock.mjs';
import { runScript, SetupError, say } from '../../vendor/progress.mjs';
import { spawnGroup } from './child-group.mjs';
import { buildGpuModule, gpuBackends } from './gpu-module.mjs';
import { formatNotices, readComponents } from './notices.mjs';

const root = path.resolve(fileURLToPath(import.meta.url), '..', '..', '..');
const host = `${process.platform}-${process.arch}`;
/** Platforms to cross-compile for, and the prefix of their tools. */
const crossTargets = { 'linux-arm64': 'aarch64-linux-gnu-', 'linux-x64-musl': '', 'win32-x64': 'x86_64-w64-mingw32-' };
const staging = path.join(root, 'build', 'prebuild');
const shim = path.join(root, 'native', 'tooling', 'prebuild-node-gyp.mjs');

const backends = ['cpu', ...(process.platform === 'darwin' ? ['metal'] : []), ...gpuBackends];

const help = `Usage: npm run prebuild -- --backend <name> [options]

  --backend cpu       the addon, and every CPU module of this platform; on macOS with Metal's
  --backend metal     the same, on macOS
  --backend vulkan    the module for Vulkan alone; VULKAN_SDK names the SDK where the system has none
  --backend cuda      the module for CUDA alone, for the toolkit of the nvcc on the PATH or in CUDACXX
  --local-variants    only the CPU modules that this machine can use: quick, for tests, not for publishing
  --target <name>     cross-compile the addon: linux-arm64, with Debian's package g++-aarch64-linux-gnu, linux-x64-musl,
                      with PyPI's ziglang (CHASQUI_ZIG), or for tests win32-x64, with g++-mingw-w64-x86-64-posix
  --define <N=V>      pass a definition to CMake, for a GPU's module (repeatable)
  --jobs <n>          run n compilers at a time
  --out <folder>      write to <folder>/prebuilds instead`;

const argumentTypes = {
  backend: { type: 'string' },
  'local-variants': { type: 'boolean', default: false },
  target: { type: 'string', default: host },
  define: { type: 'string', multiple: true, default: [] },
  jobs: { type: 'string' },
  out: { type: 'string', default: root },
  help: { type: 'boolean', default: false },
};

// npm also runs a script of this name before `build`, and then passes no arguments.
if (process.argv.length > 2) await runScript(main);

async function main() {
  const options = readOptions();
  if (options.help) return console.log(help);
  const isAddon = !gpuBackends.includes(options.backend);
  checkNinja();
  if (isAddon) prebuildify();
  await withSetupLock(() => (isAddon ? prebuildAddon(options) : prebuildGpuModule(options)));
}

function readOptions() {
  let values;
  try {
    ({ values } = parseArgs({ options: argumentTypes }));
  } catch (error) {
    throw new SetupError(`${error.message}\n\n${help}`);
  }
  if (!values.help && !backends.includes(values.backend)) {
    throw new SetupError(`--backend ${values.backend ?? '(none given)'}: there are ${backends.join(', ')}\n\n${help}`);
  }
  if (values.target !== host && !(values.target in crossTargets && values.backend === 'cpu')) {
    const known = Object.keys(crossTargets).join(', ');
    throw new SetupError(
      `--target ${values.target} --backend ${values.backend}: there are ${known}, for cpu\n\n${help}`,
    );
  }
  return values;
}

/** Checks for ninja early: it is only needed after compiling, to list the licences. */
function checkNinja() {
  const { stdout, error } = spawnSync('ninja', ['--version'], { encoding: 'utf8' });
  const [major = 0, minor = 0] = (stdout ?? '').split('.').map(Number);
  if (major > 1 || (major === 1 && minor >= 11)) return;
  const found = error ? 'there is none' : `this is ${stdout.trim() || 'none'}`;
  throw new SetupError(
    `packages are made with ninja 1.11 or newer, and ${found}: install the package ninja-build or ninja`,
  );
}

function prebuildify() {
  try {
    return path.join(path.dirname(createRequire(import.meta.url).resolve('prebuildify/package.json')), 'bin.js');
  } catch {
    throw new SetupError("npm's packages are not installed: run npm ci, and then this again");
  }
}

async function prebuildAddon(options) {
  const jobs = options.jobs ? ['--jobs', options.jobs] : [];
  const variants = options['local-variants'] ? [] : ['--all-variants'];
  const { target } = options;
  const output = emptyFolder(options, target);
  await runPrebuildify(options.out, target, ['--once', ...variants, ...jobs]);
  const build = path.join(root, target === host ? 'build' : `build-${target}`);
  describe(output, { target, complete: !options['local-variants'] }, build);
}

async function prebuildGpuModule(options) {
  const { suffix, directory, file } = await buildGpuModule(options.backend, options);
  const output = emptyFolder(options, `${host}-${suffix}`);
  fs.copyFileSync(path.join(directory, 'Release', file), path.join(output, file));
  if (process.platform === 'linux') strip(path.join(output, file));
  describe(output, { target: host, backend: suffix, complete: options.define.length === 0 }, directory);
}

function emptyFolder(options, name) {
  const folder = path.join(options.out, 'prebuilds', name);
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  return folder;
}

function strip(file) {
  const { status, stderr, error } = spawnSync('strip', ['--strip-all', file], { encoding: 'utf8' });
  if (status !== 0) throw new SetupError(`strip, of binutils, failed: ${error?.message ?? stderr}`);
}

/** Adds the notices and a list of the files and components, for native/tooling/pack.mjs. */
function describe(output, about, build) {
  const binaries = fs.readdirSync(output);
  const components = readComponents(root, build, binaries);
  fs.writeFileSync(path.join(output, 'NOTICES'), formatNotices(components));
  const named = components.map(({ name, license }) => ({ name, license }));
  const manifest = { ...about, files: [...binaries, 'NOTICES'].sort(), components: named };
  fs.writeFileSync(path.join(output, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  say(`${output}: ${manifest.files.length} files${manifest.complete ? '' : ', for tests only: it is not all there'}`);
}

/** Strips a copy: processes that run from the build itself would crash if their files changed. */
async function runPrebuildify(out, target, buildOptions) {
  fs.rmSync(staging, { recursive: true, force: true });
  fs.mkdirSync(staging, { recursive: true });
  const [platform, ...arch] = target.split('-');
  const options = ['--platform', platform, '--arch', arch.join('-'), '--out', path.resolve(out)];
  const child = spawnGroup(process.execPath, [prebuildify(), '--napi', '--strip', '--name', 'chasqui', ...options], {
    cwd: staging,
    stdio: 'inherit',
    env: {
      ...process.env,
      // On Windows prebuildify starts it through a shell, which ignores the shebang.
      PREBUILD_NODE_GYP: process.platform === 'win32' ? `"${process.execPath}" "${shim}"` : shim,
      ...(target !== host && { CHASQUI_TARGET: target, PREBUILD_STRIP_BIN: `${crossTargets[target]}strip` }),
      CHASQUI_PREBUILD_OPTIONS: JSON.stringify(buildOptions),
    },
  });
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (code !== 0) throw new SetupError(`prebuildify failed with exit code ${code}`);
}
