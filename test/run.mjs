// Runs the tests: node test/run.mjs [tier ...]. CHASQUI_TEST_JOBS says how many tiers run at a time (1). Each tier is a process of its own, because uvu runs all files of one
// command in one process, and a crash of the native code must cost one tier, not the whole run.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { noAgents } from './support/find-agents.mjs';
import { chromiumPath } from './support/find-chromium.mjs';
import { kubernetesFolder } from './support/find-kubernetes.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.dirname(here);
const minute = 60_000;
const vulkanModules = path.join(root, 'prebuilds', `${process.platform}-${process.arch}-vulkan`);
const vulkanVariables = path.join(root, 'build', 'vulkan-tools', 'env');
/** What the servers of this run answer. */
const replies = path.join(root, 'build', 'test-replies');

/** Whether the tiers `onRequest` are part of the run; where one cannot run then, that is a failure. */
const everything = process.env.CHASQUI_TEST_EVERYTHING === '1';

// In this order: what fails fastest comes first. A tier that only some machines can run gets a `when`; a single test
// that skips itself fails the run. Limits are for what hangs: several times what a tier takes on two busy cores. No
// other runs beside one that is `alone`. One that is `onRequest` downloads so much that it has to be named.
const tiers = [
  { name: 'house', limit: 5 * minute },
  { name: 'unit', limit: 15 * minute },
  { name: 'setup', limit: 10 * minute },
  { name: 'http', limit: 20 * minute },
  { name: 'native', limit: 10 * minute },
  { name: 'llama', limit: 20 * minute },
  { name: 'cli', limit: 20 * minute },
  { name: 'addon', limit: 20 * minute },
  { name: 'model', limit: 20 * minute },
  { name: 'model-cli', limit: 20 * minute },
  { name: 'desktop', limit: 20 * minute },
  { name: 'browser', limit: 20 * minute, when: noBrowser },
  { name: 'packages', limit: 20 * minute, when: noPackages },
  { name: 'vulkan', limit: 30 * minute, when: noVulkan, env: vulkanEnvironment },
  { name: 'kubernetes', limit: 20 * minute, when: noKubectl },
  { name: 'cluster', limit: 20 * minute, when: noCluster },
  { name: 'containers', limit: 20 * minute, when: noContainers },
  { name: 'spec', limit: 20 * minute },
  { name: 'clients', limit: 20 * minute },
  { name: 'agents', limit: 20 * minute, when: noAgents, onRequest: true },
  { name: 'cloud', limit: 30 * minute, when: noBrowser },
  { name: 'property', limit: 20 * minute },
  // It measures how long others are held up.
  { name: 'hostile', limit: 20 * minute, alone: true },
  {
    name: 'faults',
    limit: 20 * minute,
    alone: true,
    when: process.platform === 'linux' ? undefined : () => 'it needs /proc',
  },
  // Last, because it reads what servers answered in all the others.
  { name: 'conformance', limit: 15 * minute, alone: true },
];

const running = new Set();

/** Packages are installed as their users install them: with their dependencies, from a registry. */
function noPackages() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'its tests know linux-x64 only';
  const { status } = spawnSync('npm', ['view', 'node-gyp-build', 'version', '--prefer-offline']);
  return status === 0 ? undefined : 'no package registry can be reached';
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

function vulkanEnvironment() {
  const lines = fs.readFileSync(vulkanVariables, 'utf8').trim().split('\n');
  return { ...Object.fromEntries(lines.map((line) => line.split(/=(.*)/))), CHASQUI_MODULES: vulkanModules };
}

process.once('SIGTERM', () => {
  for (const child of running) child.kill('SIGKILL');
  process.exit(143);
});
process.exitCode = await main(process.argv.slice(2));

async function main(wanted) {
  const present = fs.readdirSync(here).filter(hasTests);
  const unlisted = present.filter((name) => !tiers.some((tier) => tier.name === name));
  if (unlisted.length > 0) return complain(`test/${unlisted[0]} has tests but is not listed in test/run.mjs`);
  const absent = wanted.filter((name) => !present.includes(name));
  if (absent.length > 0) return complain(`there is no tier ${absent[0]}; there are ${present.join(', ')}`);

  fs.rmSync(replies, { recursive: true, force: true });
  fs.mkdirSync(replies, { recursive: true });
  const jobs = Number(process.env.CHASQUI_TEST_JOBS ?? 1);
  if (!(Number.isInteger(jobs) && jobs >= 1)) return complain('CHASQUI_TEST_JOBS must be a whole number from 1');
  const isChosen = ({ name, onRequest }) => (wanted.length === 0 ? everything || !onRequest : wanted.includes(name));
  const chosen = tiers.filter((tier) => present.includes(tier.name) && isChosen(tier));
  return summarise(await runTiers(chosen, jobs));
}

/** `jobs` of them at a time, in order; those that are `alone` one after another at the end. */
async function runTiers(chosen, jobs) {
  const results = new Map();
  const run = async (tier) => results.set(tier, await runTier(tier, jobs > 1));
  const waiting = chosen.filter(({ alone }) => !alone);
  const lane = async () => {
    for (let tier = waiting.shift(); tier; tier = waiting.shift()) await run(tier);
  };
  await Promise.all(Array.from({ length: jobs }, lane));
  for (const tier of chosen.filter(({ alone }) => alone)) await run(tier);
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

/** With `atOnce` what it prints comes when it has ended. */
async function runTier(tier, atOnce) {
  const reason = tier.when?.();
  if (reason) {
    const failed = everything && tier.onRequest ? 1 : 0;
    return { name: tier.name, passed: 0, failed, problem: '', note: `not on this machine: ${reason}` };
  }
  if (!atOnce) console.log(`\n${tier.name}`);
  const started = Date.now();
  const { output, end } = await runUvu(tier, atOnce);
  if (atOnce) console.log(`\n${tier.name}\n${output}`);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  return { name: tier.name, note: `${seconds} s`, ...judge(output, end) };
}

function runUvu({ name, limit, env }, atOnce) {
  const uvu = path.join(root, 'node_modules', 'uvu', 'bin.js');
  const color = process.stdout.isTTY ? '--color' : '--no-color';
  const args = ['--import', 'tsx', uvu, path.join('test', name), String.raw`\.test\.ts$`, color];
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...recording(), ...env?.() },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    let output = '';
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, limit);
    child.stdout.on('data', (data) => {
      output += data;
      if (!atOnce) process.stdout.write(data);
    });
    child.stderr.pipe(process.stderr, { end: false });
    let grace;
    const finish = (code, signal) => {
      clearTimeout(timer);
      clearTimeout(grace);
      running.delete(child);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ output, end: { code, signal, timedOut, limit } });
    };
    // "close" waits for everyone who holds the pipes: a child that a test forgot would hold up the run.
    child.once('exit', (code, signal) => {
      grace = setTimeout(finish, 2000, code, signal);
    });
    child.once('close', finish);
  });
}

/** An environment in which all Node processes write down what they answer as servers. */
function recording() {
  const recorder = pathToFileURL(path.join(here, 'support', 'record-replies.mjs')).href;
  const options = [process.env.NODE_OPTIONS, `--import=${recorder}`].filter(Boolean).join(' ');
  return { ...process.env, NODE_OPTIONS: options, CHASQUI_RECORD_REPLIES: replies };
}

/** uvu prints its totals at the very end: a process that printed none did not come that far. */
function judge(output, { code, signal, timedOut, limit }) {
  const plain = stripVTControlCharacters(output);
  const [, total, passed, skipped] = (
    /Total:\s+(\d+)\s+Passed:\s+(\d+)\s+Skipped:\s+(\d+)/.exec(plain) ?? ['', 0, 0, 0]
  ).map(Number);
  const counts = { passed, failed: total - passed };
  if (timedOut) return crashed(counts, `was still running after ${limit / minute} minutes`);
  if (signal) return crashed(counts, `was ended by ${signal}`);
  if (total === 0) return crashed(counts, `ran no test (exit code ${code})`);
  if (skipped > 0) {
    const problem = `${skipped} skipped, counted as failed: only a whole tier may be left out, by its "when"`;
    return { passed, failed: counts.failed + skipped, problem };
  }
  if (code !== 0 && total === passed) return crashed(counts, `ended with exit code ${code}`);
  return { ...counts, problem: '' };
}

function crashed(counts, problem) {
  return { passed: counts.passed, failed: counts.failed + 1, problem };
}

function summarise(results) {
  const width = Math.max(...results.map(({ name }) => name.length));
  console.log('');
  for (const { name, passed, failed, problem, note } of results) {
    const counts = `${passed} passed, ${failed} failed`.padEnd(24);
    console.log(`  ${name.padEnd(width)}  ${counts}  ${[note, problem].filter(Boolean).join('; ')}`);
  }
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  const failed = sum('failed');
  console.log(`\n${sum('passed')} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}
