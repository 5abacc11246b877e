/**
 * The native code under a sanitizer of GCC: `npm run test:sanitizers -- --kind address|thread [options]`. The options:
 *   --minutes N         how long the load takes (5)
 *   --clients N         beside six that ask for what those do not (56); fewer for a machine that is slow or busy
 *   --no-tests          the load alone
 *   --no-load           the tests alone
 * Builds the addon, ggml, core-tests and llama-tests with it into build/sanitizers/<kind>, runs the tests, and then a
 * server with 64 sequences and two threads under a mixed load. `address` looks for undefined behaviour as well. Ends with
 * code 1 for every report that the suppressions beside this file do not explain, and when anything else goes wrong.
 * Reports are kept in build/sanitizers/<kind>/reports.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { nameMtpModels } from '../support/mtp-model.js';
import { carryLoad } from './load.js';

const KINDS = {
  address: {
    runtimes: ['libasan.so', 'libubsan.so'],
    variables: (reports: string) => ({
      // Node keeps much until it ends. core-tests and llama-tests look for leaks.
      ASAN_OPTIONS: `detect_leaks=0:log_path=${reports}/address:halt_on_error=1:abort_on_error=0`,
      UBSAN_OPTIONS: `print_stacktrace=1:log_path=${reports}/undefined:suppressions=${path.join(here(), 'undefined.supp')}`,
    }),
  },
  thread: {
    runtimes: ['libtsan.so'],
    variables: (reports: string) => ({
      TSAN_OPTIONS: `log_path=${reports}/thread:halt_on_error=0:exitcode=0:history_size=4:suppressions=${path.join(here(), 'thread.supp')}`,
    }),
  },
};
/** Of each report, in the output; the files have all of it. */
const TOLD_LINES = 14;

const { values } = parseArgs({
  options: {
    kind: { type: 'string', default: '' },
    minutes: { type: 'string', default: '5' },
    clients: { type: 'string', default: '56' },
    tests: { type: 'boolean', default: true },
    load: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const [minutes, clients] = [Number(values.minutes), Number(values.clients)];
if (!Object.hasOwn(KINDS, values.kind) || !(minutes > 0) || !(Number.isInteger(clients) && clients >= 0)) {
  console.error('test:sanitizers takes --kind address|thread, --minutes N, --clients N, --no-tests and --no-load');
  process.exit(2);
}
const name = values.kind as keyof typeof KINDS;
const kind = KINDS[name];
const root = path.join(here(), '..', '..');
const folder = path.join(root, 'build', 'sanitizers', name);
const build = path.join(folder, 'build');
const reports = path.join(folder, 'reports');
const problems: string[] = [];

fs.rmSync(reports, { recursive: true, force: true });
fs.mkdirSync(reports, { recursive: true });
buildAll();
const variables = { ...kind.variables(reports), LD_LIBRARY_PATH: path.join(build, 'Release') };
if (values.tests) {
  runTests(path.join('Release', 'core-tests'));
  // One thread runs all of them, so that the other sanitizer has nothing to find and takes an hour for it.
  if (name === 'address') {
    nameMtpModels(process.env);
    runTests(path.join('Release', 'llama-tests'));
  }
}
if (values.load) {
  // Node itself is not instrumented: the runtime must be there before it.
  const preload = kind.runtimes.map(libraryPath).join(':');
  const settings = { ...variables, LD_PRELOAD: preload, CHASQUI_PREBUILD: folder };
  problems.push(...(await carryLoad(settings, minutes, clients)));
}
problems.push(...readReports());
for (const problem of problems) console.log(`not ok: ${problem}`);
console.log(`${name}: ${problems.length === 0 ? 'nothing found' : `${problems.length} problems`}`);
process.exitCode = problems.length === 0 ? 0 : 1;

function here(): string {
  return import.meta.dirname;
}

function buildAll(): void {
  const started = Date.now();
  fs.mkdirSync(build, { recursive: true });
  const cmakeJs = path.join(root, 'node_modules', 'cmake-js', 'bin', 'cmake-js');
  const definitions = [`CHASQUI_SANITIZE=${name}`, 'CHASQUI_TESTS=ON', `CHASQUI_CPU_VARIANTS=${cpuVariants()}`];
  // Half the time of a build, and reports that still name the right lines.
  definitions.push('CMAKE_CXX_FLAGS_RELEASE=-O1', 'CMAKE_C_FLAGS_RELEASE=-O1');
  const options = ['--out', build, '--parallel', String(os.availableParallelism()), '--log-level', 'warn'];
  run(process.execPath, [cmakeJs, 'configure', ...definitions.map((each) => `--CD${each}`), ...options]);
  for (const target of ['all', 'llama-tests']) {
    run(process.execPath, [cmakeJs, 'build', '--target', target, ...options]);
  }
  console.log(`built with -fsanitize=${name}, after ${Math.round((Date.now() - started) / 1000)} s`);
}

/** The best for this machine: code of others is never run here. */
function cpuVariants(): string {
  const script = `import('${path.join(root, 'native', 'tooling', 'cpu-variants.mjs')}').then(({ chooseVariants }) =>
    console.log(String(chooseVariants('${path.join(root, 'vendor', 'llama.cpp')}'))))`;
  return run(process.execPath, ['--input-type=module', '-e', script]).trim().split(',')[0] as string;
}

function run(command: string, args: string[]): string {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (status === 0) return stdout;
  console.error(
    `${command} ${args.join(' ')} failed: ${error?.message ?? `${stdout.slice(-8000)}${stderr.slice(-4000)}`}`,
  );
  process.exit(1);
}

function libraryPath(library: string): string {
  return run('gcc', [`-print-file-name=${library}`]).trim();
}

function runTests(program: string): void {
  const started = Date.now();
  const env = { ...process.env, ...variables };
  const { status, signal, stdout, stderr } = spawnSync(path.join(build, program), [], {
    cwd: root,
    env,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  const failed = stdout.split('\n').filter((line) => line.startsWith('not ok'));
  problems.push(...failed.map((line) => `${program}: ${line}`));
  if (status !== 0 && failed.length === 0)
    problems.push(`${program} ended with ${signal ?? status}: ${stderr.slice(-500)}`);
  const passed = stdout.split('\n').filter((line) => line.startsWith('ok')).length;
  console.log(
    `${program}: ${passed} passed, ${failed.length} failed, after ${Math.round((Date.now() - started) / 1000)} s`,
  );
}

/** The beginning of each kind of report, told once: what is alike has the same summary. */
function readReports(): string[] {
  const told = new Map<string, string>();
  for (const file of fs.readdirSync(reports)) {
    const text = fs.readFileSync(path.join(reports, file), 'utf8');
    for (const report of text.split(/^(?===\d+==ERROR|WARNING: ThreadSanitizer|\S+:\d+:\d+: runtime error)/m)) {
      if (!/ERROR|WARNING|runtime error/.test(report)) continue;
      const [summary = report.split('\n')[0] ?? ''] = /SUMMARY: .*/.exec(report) ?? [];
      if (!told.has(summary)) told.set(summary, `${file}:\n${report.split('\n').slice(0, TOLD_LINES).join('\n')}`);
    }
  }
  return [...told.values()];
}
