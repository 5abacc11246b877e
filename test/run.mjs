// Runs the tests: node test/run.mjs [tier ...]. Tiers run at the same time while there are cores for them. CHASQUI_TEST_JOBS
// is the number of cores (default: all); 1 runs one tier after another. Each tier is a process, because uvu runs all files of a
// command in one process and a crash of native code must not end the whole run.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { noAgents } from './support/find-agents.mjs';
import { chromiumPath } from './support/find-chromium.mjs';
import { kubernetesFolder } from './support/find-kubernetes.mjs';
import { noPypi, PYTHON_ENVIRONMENTS } from './support/find-pypi.mjs';
import { describeProcess, killTree, processTree, runningTest } from './support/hang-report.mjs';
import { register, usesDist } from './support/node-arguments.mjs';
import { judge, summarise } from './support/tier-results.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(here);
const minute = 60_000;
const vulkanModules = path.join(root, 'prebuilds', `${process.platform}-${process.arch}-vulkan`);
const vulkanVariables = path.join(root, 'build', 'vulkan-tools', 'env');
/** Replies of all servers of this run (record-replies.mjs). */
const replies = path.join(root, 'build', 'test-replies');

/** Durations and CPU times of test files (record-times.mjs). */
const times = path.join(root, 'build', 'test-times');
const POLL_MS = 500;
/** A tier that runs longer than this many times its duration, and some minutes, hangs. */
const LIMIT_FACTOR = 5;
const LIMIT_MARGIN_MS = 4 * minute;
/** `cores` is an average: tiers that need as many as the machine has leave each idle for a fifth of the time. */
const OVERLAP = 1.3;
/** The summary repeats the end of what a tier that ended early wrote to standard error. */
const MAX_ERROR_LENGTH = 8000;
/** How long a tier that hangs may take to print what it has open. */
const LAST_WORDS_MS = 1000;
const recordTimes = pathToFileURL(path.join(here, 'support', 'record-times.mjs')).href;

/** Files of the tier `agents` to run, such as `codex`; all by default. */
const agents = process.env.CHASQUI_TEST_AGENTS;
/** Runs the tiers `onRequest` too, and counts one that cannot run as a failure. */
const everything = process.env.CHASQUI_TEST_EVERYTHING === '1';

/**
 * `seconds`: the duration on an idle machine. `cores`: CPU time divided by it, so that tiers that mostly wait run beside busy
 * ones. The longest tier starts first. The sum of `cores` of the tiers that run at the same time does not exceed OVERLAP times
 * the machine's. `pending` delays a tier.
 * Tiers that compile or pack in the same folders (`builds`) run one after another, because nothing locks those.
 * `extra`: time for what only the first run does, such as a build. `when` returns why this machine cannot run the tier; a
 * single test that skips itself fails the run. A tier `onRequest` runs only if it is named.
 */
const tiers = [
  { name: 'house', seconds: 6, cores: 1 },
  { name: 'unit', seconds: 55, cores: 1.1 },
  { name: 'setup', seconds: 4, cores: 0.6 },
  { name: 'http', seconds: 85, cores: 1.1 },
  { name: 'native', seconds: 30, cores: 1.3, extra: 10 * minute, builds: true },
  { name: 'llama', seconds: 160, cores: 1.5, extra: 15 * minute, builds: true },
  { name: 'cli', seconds: 130, cores: 1.1 },
  { name: 'model', seconds: 200, cores: 0.95 },
  { name: 'model-cli', seconds: 130, cores: 1.1 },
  { name: 'desktop', seconds: 90, cores: 0.8 },
  { name: 'browser', seconds: 180, cores: 1, when: noBrowser },
  {
    name: 'packages',
    seconds: 70,
    cores: 1.2,
    extra: 10 * minute,
    builds: true,
    when: noPackages,
    pending: isBuilding('VULKAN'),
  },
  {
    name: 'vulkan',
    seconds: 300,
    cores: 1,
    extra: 15 * minute,
    when: noVulkan,
    env: vulkanEnvironment,
    pending: isBuilding('VULKAN'),
  },
  { name: 'platforms', seconds: 120, cores: 1.5, extra: 40 * minute, when: noCrossTools },
  { name: 'kubernetes', seconds: 80, cores: 0.8, when: noKubectl },
  { name: 'cluster', seconds: 120, cores: 0.7, when: noCluster },
  {
    name: 'containers',
    seconds: 150,
    cores: 0.3,
    builds: true,
    when: noContainers,
    pending: isBuilding('IMAGE'),
  },
  { name: 'spec', seconds: 30, cores: 0.7 },
  { name: 'clients', seconds: 70, cores: 0.7 },
  {
    name: 'clients-python',
    seconds: 100,
    cores: 0.7,
    extra: 15 * minute,
    when: () => noPypi('clients-python', PYTHON_ENVIRONMENTS),
  },
  { name: 'agents', seconds: 27, cores: 0.4, extra: 15 * minute, when: noAgents, onRequest: true, only: agents },
  { name: 'cloud', seconds: 400, cores: 0.9, when: noBrowser },
  { name: 'real', seconds: 400, cores: 1, extra: 15 * minute, when: () => noPypi('real') },
  { name: 'property', seconds: 15, cores: 0.9 },
  { name: 'hostile', seconds: 90, cores: 0.7 },
  { name: 'faults', seconds: 290, cores: 0.35, when: noProcesses },
  // Last: it reads the replies of all other tiers.
  { name: 'conformance', seconds: 15, cores: Infinity, last: true },
];

/** The output so far of each tier that runs, by its process. */
const running = new Map();

function noProcesses() {
  return process.platform === 'linux' ? undefined : 'it needs /proc';
}

/** Packages are installed as their users install them: with their dependencies, from a registry. */
function noPackages() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'its tests know linux-x64 only';
  const { status } = spawnSync('npm', ['view', 'node-gyp-build', 'version', '--prefer-offline']);
  return status === 0 ? undefined : 'no package registry can be reached';
}

/** Programs and their packages in Debian. */
const CROSS_TOOLS = {
  'aarch64-linux-gnu-g++': 'g++-aarch64-linux-gnu',
  'qemu-aarch64-static': 'qemu-user-static',
  'x86_64-w64-mingw32-g++-posix': 'g++-mingw-w64-x86-64-posix',
  wine: 'wine',
};

function noCrossTools() {
  const isWanted = process.env.CHASQUI_CI === 'full' || process.argv.includes('platforms');
  if (!isWanted) return 'it runs with CHASQUI_CI=full, or if it is named';
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'it cross-compiles on linux-x64';
  if (process.getuid?.() !== 0) return 'its chroot needs root';
  const missing = Object.keys(CROSS_TOOLS).filter((tool) => spawnSync(tool, ['--version']).status !== 0);
  return missing.length > 0
    ? `no ${missing.join(', ')}: install ${missing.map((tool) => CROSS_TOOLS[tool]).join(' ')}`
    : noPypi('platforms');
}

function noKubectl() {
  const { status } = spawnSync('kubectl', ['version', '--client']);
  return status === 0 ? undefined : 'no kubectl: install it, in Debian with the package kubernetes-client';
}

function noCluster() {
  return noKubectl() ?? (kubernetesFolder() ? undefined : 'CHASQUI_KUBERNETES names no folder with an API');
}

function noContainers() {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it needs Linux and root';
  const podman = (...args) => spawnSync('podman', args).status === 0;
  if (!podman('info')) return 'no podman that works';
  if (spawnSync('catatonit', ['--version']).status !== 0) return 'no catatonit, with which podman keeps a pod';
  const missing = ['dpkg-deb', 'xz'].filter((tool) => spawnSync(tool, ['--version']).status !== 0);
  if (missing.length > 0) return `no ${missing.join(', ')}, with which installers are packed`;
  return podman('image', 'exists', 'localhost/chasqui-base') ? undefined : 'no base image: run .ci/base-image';
}

function noBrowser() {
  return chromiumPath() ? undefined : 'no Chromium was found; CHASQUI_CHROMIUM names one';
}

/** `.ci/vulkan` puts both there. */
function noVulkan() {
  if (!fs.existsSync(path.join(vulkanModules, 'libggml-vulkan.so'))) return 'no Vulkan module: run .ci/vulkan';
  return fs.existsSync(vulkanVariables) ? undefined : 'no Vulkan driver: run .ci/vulkan';
}

/**
 * `.ci/run` makes the Vulkan module and the base image beside the tests, in the processes CHASQUI_TEST_VULKAN_BUILD and
 * CHASQUI_TEST_IMAGE_BUILD. Packages need the lock of the former.
 */
function isBuilding(what) {
  const pid = Number(process.env[`CHASQUI_TEST_${what}_BUILD`] ?? 0);
  return () => {
    try {
      // It remains a zombie until the shell that started it waits for it.
      return pid > 0 && !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
      return false;
    }
  };
}

function vulkanEnvironment() {
  const lines = fs.readFileSync(vulkanVariables, 'utf8').trim().split('\n');
  return { ...Object.fromEntries(lines.map((line) => line.split(/=(.*)/))), CHASQUI_MODULES: vulkanModules };
}

process.once('SIGTERM', () => {
  for (const [child, read] of running) {
    child.kill('SIGKILL');
    fs.writeSync(1, read());
  }
  process.exit(143);
});
process.exitCode = await main(process.argv.slice(2));

async function main(wanted) {
  const present = fs.readdirSync(here).filter(hasTests);
  const unlisted = present.filter((name) => !tiers.some((tier) => tier.name === name));
  if (unlisted.length > 0) return complain(`test/${unlisted[0]} has tests but is not listed in test/run.mjs`);
  const absent = wanted.filter((name) => !present.includes(name));
  if (absent.length > 0) return complain(`there is no tier ${absent[0]}; there are ${present.join(', ')}`);

  for (const folder of [replies, times]) {
    fs.rmSync(folder, { recursive: true, force: true });
    fs.mkdirSync(folder, { recursive: true });
  }
  const jobs = Number(process.env.CHASQUI_TEST_JOBS ?? os.availableParallelism());
  if (!(Number.isInteger(jobs) && jobs >= 1)) return complain('CHASQUI_TEST_JOBS must be a whole number from 1');
  if (!usesDist())
    console.error('dist/ is out of date: the tests compile ts/ in each process. `npm run build` avoids this.');
  const isChosen = ({ name, onRequest }) => (wanted.length === 0 ? everything || !onRequest : wanted.includes(name));
  const chosen = tiers.filter((tier) => present.includes(tier.name) && isChosen(tier));
  return summarise(await runTiers(chosen, jobs));
}

/** Starts the longest tier that fits beside the running ones, until all have run. */
async function runTiers(chosen, jobs) {
  const results = new Map();
  const atOnce = jobs > 1 && chosen.length > 1;
  const waiting = [...chosen];
  if (atOnce) waiting.sort((a, b) => Number(a.last ?? 0) - Number(b.last ?? 0) || b.seconds - a.seconds);
  const started = new Map();
  const canStart = ({ cores, last, pending, builds }) => {
    if (pending?.() || (last && waiting.length > 1)) return false;
    const others = [...started.keys()];
    if (builds && others.some((tier) => tier.builds)) return false;
    const used = others.reduce((sum, tier) => sum + tier.cores, 0);
    return started.size === 0 || (atOnce && used + cores <= OVERLAP * jobs);
  };
  while (waiting.length + started.size > 0) {
    const next = waiting.findIndex(canStart);
    if (next < 0) {
      await Promise.race([...started.values(), delay(POLL_MS)]);
      continue;
    }
    const [tier] = waiting.splice(next, 1);
    const ended = runTier(tier, atOnce).then((result) => {
      results.set(tier, result);
      started.delete(tier);
    });
    started.set(tier, ended);
  }
  return chosen.map((tier) => results.get(tier));
}

function hasTests(name) {
  const dir = path.join(here, name);
  if (!fs.statSync(dir).isDirectory()) return false;
  return fs.readdirSync(dir, { recursive: true }).some((file) => String(file).endsWith('.test.ts'));
}

function complain(message) {
  console.error(message);
  return 2;
}

/** With `atOnce`, its output is printed when it has ended. */
async function runTier(tier, atOnce) {
  const reason = tier.when?.();
  if (reason) {
    const failed = everything && tier.onRequest ? 1 : 0;
    const note = `not on this machine: ${reason}`;
    return { name: tier.name, passed: 0, failed, problem: '', failures: '', note, files: [] };
  }
  if (!atOnce) console.log(`\n${tier.name}`);
  const started = Date.now();
  const { output, errors, end } = await runUvu(tier, atOnce);
  if (atOnce) console.log(`\n${tier.name}\n${output}`);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  const files = readTimes(tier.name);
  const cpu = files.reduce((sum, file) => sum + file.cpu, 0).toFixed(1);
  return { name: tier.name, note: `${seconds} s, ${cpu} s of CPU time`, files, ...judge(output, errors, end) };
}

function readTimes(tier) {
  const log = path.join(times, tier);
  const lines = fs.existsSync(log) ? fs.readFileSync(log, 'utf8').trim().split('\n') : [];
  return lines.map((line) => ({ tier, ...JSON.parse(line) }));
}

function runUvu({ name, seconds, extra = 0, env, only = '' }, atOnce) {
  const uvu = path.join(root, 'node_modules', 'uvu', 'bin.js');
  const args = [
    '--import',
    register,
    '--import',
    recordTimes,
    uvu,
    path.join('test', name),
    String.raw`${only}.*\.test\.ts$`,
  ];
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...inherited(extra), ...recording(), ...colors(), CHASQUI_TEST_TIMES: path.join(times, name), ...env?.() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let errors = '';
    running.set(child, () => (atOnce ? `\n${name}\n${output}\n` : ''));
    let timedOut = false;
    const limit = LIMIT_FACTOR * seconds * 1000 + LIMIT_MARGIN_MS + extra;
    const timer = setTimeout(async () => {
      timedOut = true;
      const processes = processTree(child.pid).map(describeProcess).join('\n');
      console.error(`\n${name} hangs ${runningTest(output)}. Its processes:\n${processes}`);
      child.kill('SIGUSR2');
      await delay(LAST_WORDS_MS);
      killTree(child.pid);
    }, limit);
    child.stdout.on('data', (data) => {
      output += data;
      if (!atOnce) process.stdout.write(data);
    });
    child.stderr.on('data', (data) => {
      errors = (errors + data).slice(-MAX_ERROR_LENGTH);
      process.stderr.write(data);
    });
    let grace;
    const finish = (code, signal) => {
      clearTimeout(timer);
      clearTimeout(grace);
      running.delete(child);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ output, errors, end: { code, signal, timedOut, limit } });
    };
    // "close" waits for all processes that hold the pipes, and a test may have left a child process.
    child.once('exit', (code, signal) => {
      grace = setTimeout(finish, 2000, code, signal);
    });
    child.once('close', finish);
  });
}

/** Node.js parses NODE_EXTRA_CA_CERTS at each start, which takes 40 ms. Only tiers with `extra` time download anything. */
function inherited(extra) {
  const variables = { ...process.env };
  if (extra === 0) delete variables.NODE_EXTRA_CA_CERTS;
  return variables;
}

/** Variables that make Node processes record their HTTP replies. */
function recording() {
  const recorder = pathToFileURL(path.join(here, 'support', 'record-replies.mjs')).href;
  const options = [process.env.NODE_OPTIONS, `--import=${recorder}`].filter(Boolean).join(' ');
  return { NODE_OPTIONS: options, CHASQUI_RECORD_REPLIES: replies };
}

/** For register.mjs: the output of a tier goes through a pipe. */
function colors() {
  return process.stdout.isTTY && process.env.NO_COLOR === undefined ? { FORCE_COLOR: '1' } : {};
}
