/**
 * Builds the fuzzers and runs them: `npm run fuzz -- [options] [target ...]`. The options:
 *   --minutes N   for all of them together (2)
 *   --runs N      the most executions of each (no limit)
 *   --jobs N      how many run at a time (2)
 *   --seed N      another one is another run (1)
 *   --patience N  seconds that an input may take, with the sanitizers; more for a busy machine (10)
 *   --json        figures for a program
 * What they find is kept in build/fuzz/findings, what they learn in build/fuzz/corpus. A finding ends the run of its target,
 * and the command with code 1. To see one again: build/fuzz/bin/fuzz-TARGET build/fuzz/findings/FILE.
 */
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { DRAWING, FORMATS, picture } from '../support/image-files.js';
import { progressiveJpeg } from '../support/progressive-jpeg.js';

const here = import.meta.dirname;
const root = path.join(here, '..', '..');
const build = path.join(root, 'build', 'fuzz');
const findings = path.join(build, 'findings');

/** The longest input that libFuzzer makes; where repetitions are written short, the text is longer. */
const TARGETS: Record<string, { longest: number }> = {
  conversation: { longest: 1536 },
  gbnf: { longest: 512 },
  image: { longest: 2048 },
  reply: { longest: 512 },
  schema: { longest: 2048 },
  tokenizer: { longest: 256 },
};
/** The vocabularies and templates that a target keeps take a third of it. */
const MAX_MEMORY_MIB = 2048;
/** A target that has read all templates may be in the middle of an input when its time is over. */
const GRACE_SECONDS = 60;
/** Of the tail of a finding's log. */
const TOLD_LINES = 12;

interface Outcome {
  target: string;
  executions: number;
  perSecond: number;
  coverage: number;
  features: number;
  inputs: number;
  finding: string | null;
  seconds: number;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '2' },
    runs: { type: 'string', default: '-1' },
    jobs: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    patience: { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
  },
});
const [minutes, runs, jobs, seed] = [values.minutes, values.runs, values.jobs, values.seed].map(Number) as [
  number,
  number,
  number,
  number,
];
const unknown = positionals.find((name) => !(name in TARGETS));
if (unknown !== undefined || !(minutes > 0) || !(jobs > 0) || !Number.isInteger(runs) || !Number.isInteger(seed)) {
  console.error(`fuzz takes --minutes, --runs, --jobs, --seed, --patience, and of ${Object.keys(TARGETS).join(', ')}`);
  process.exit(2);
}
const targets = positionals.length > 0 ? positionals : Object.keys(TARGETS);
const running = new Set<ReturnType<typeof spawn>>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));

buildTargets();
await writeImages();
const outcomes = await runAll();
if (values.json) console.log(JSON.stringify(outcomes, null, 2));
process.exitCode = outcomes.every(({ finding }) => finding === null) ? 0 : 1;

function buildTargets(): void {
  const started = Date.now();
  const definitions = ['CMAKE_BUILD_TYPE=Release', 'CHASQUI_FUZZ=ON'];
  if (process.env.CHASQUI_LLAMA_DIR) definitions.push(`CHASQUI_LLAMA_DIR=${process.env.CHASQUI_LLAMA_DIR}`);
  if (process.env.CHASQUI_WERROR) definitions.push('CHASQUI_WERROR=ON');
  const env = { ...process.env, CC: 'clang', CXX: 'clang++' };
  cmake(['-G', 'Ninja', '-S', root, '-B', build, ...definitions.map((definition) => `-D${definition}`)], env);
  cmake(['--build', build, '--parallel', String(os.availableParallelism()), '--target', 'fuzzers'], env);
  tell(`the fuzzers are built, after ${Math.round((Date.now() - started) / 1000)} s`);
}

function cmake(args: string[], env: NodeJS.ProcessEnv): void {
  const { status, error, stdout, stderr } = spawnSync('cmake', args, { env, encoding: 'utf8', maxBuffer: 64 << 20 });
  if (status === 0) return;
  console.error(`cmake ${args.join(' ')} failed: ${error?.message ?? `${stdout.slice(-8000)}${stderr}`}`);
  process.exit(1);
}

/** The pictures that the fuzzer of images begins with, which are no text that a repository should hold. */
async function writeImages(): Promise<void> {
  const folder = seedsOf('image');
  fs.mkdirSync(folder, { recursive: true });
  const drawing = { ...DRAWING, width: 9, height: 7 };
  for (const format of FORMATS.filter((each) => each !== 'webp')) {
    fs.writeFileSync(path.join(folder, format), await picture(format, drawing));
  }
  fs.writeFileSync(path.join(folder, 'progressive'), progressiveJpeg(3, 2, [0, 255, 128, 128, 30, 200]));
}

function seedsOf(target: string): string {
  return target === 'image' ? path.join(build, 'seeds', target) : path.join(here, 'corpus', target);
}

async function runAll(): Promise<Outcome[]> {
  fs.mkdirSync(findings, { recursive: true });
  const rounds = Math.ceil(targets.length / jobs);
  const seconds = Math.max(1, Math.floor((minutes * 60) / rounds));
  const waiting = [...targets];
  const done: Outcome[] = [];
  const work = async (): Promise<void> => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      done.push(await runTarget(target, seconds));
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return done;
}

async function runTarget(target: string, seconds: number): Promise<Outcome> {
  const learned = path.join(build, 'corpus', target);
  fs.mkdirSync(learned, { recursive: true });
  const args = [
    `-max_total_time=${seconds}`,
    `-runs=${runs}`,
    `-seed=${seed}`,
    `-max_len=${TARGETS[target]?.longest}`,
    `-dict=${path.join(here, 'dictionaries', `${target}.dict`)}`,
    `-artifact_prefix=${path.join(findings, `${target}-`)}`,
    `-timeout=${values.patience}`,
    `-report_slow_units=${values.patience}`,
    `-rss_limit_mb=${MAX_MEMORY_MIB}`,
    '-print_final_stats=1',
    learned,
    seedsOf(target),
  ];
  const started = Date.now();
  const log = await run(path.join(build, 'bin', `fuzz-${target}`), args, seconds);
  const [, coverage = 0, features = 0, inputs = 0] =
    [...log.matchAll(/cov: (\d+) ft: (\d+) corp: (\d+)/g)].at(-1) ?? [];
  const outcome: Outcome = {
    target,
    executions: statistic(log, 'number_of_executed_units'),
    perSecond: statistic(log, 'average_exec_per_sec'),
    coverage: Number(coverage),
    features: Number(features),
    inputs: Number(inputs),
    finding: /Test unit written to (\S+-(?:crash|leak|oom|timeout)-\S+)/.exec(log)?.[1] ?? null,
    seconds: Math.round((Date.now() - started) / 1000),
  };
  if (!/^Done \d+ runs/m.test(log)) outcome.finding ??= 'none was kept: it ended by itself';
  tell(summary(outcome));
  if (outcome.finding !== null) tell(log.split('\n').filter(isTelling).slice(0, TOLD_LINES).join('\n'));
  return outcome;
}

/** Its log, whatever its end was. */
function run(command: string, args: string[], seconds: number): Promise<string> {
  const env = {
    ...process.env,
    ASAN_OPTIONS: 'quarantine_size_mb=64:detect_leaks=1',
    UBSAN_OPTIONS: 'print_stacktrace=1',
  };
  const child = spawn(command, args, { env, cwd: findings, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  const timer = setTimeout(() => child.kill('SIGKILL'), (seconds + GRACE_SECONDS) * 1000);
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      // Progress is no part of any report.
      if (log.length > 4 << 20) log = log.slice(2 << 20);
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', () => {
      clearTimeout(timer);
      running.delete(child);
      resolve(log);
    });
  });
}

function statistic(log: string, name: string): number {
  return Number(new RegExp(`stat::${name}:\\s+(\\d+)`).exec(log)?.[1] ?? 0);
}

function isTelling(line: string): boolean {
  return /^(==\d+==|SUMMARY|artifact|\s+#\d+ )|ASSERT|runtime error|terminate|what\(\)/.test(line);
}

function summary({ target, executions, perSecond, coverage, features, inputs, finding, seconds }: Outcome): string {
  const counts = `${executions} executions in ${seconds} s (${perSecond} a second)`;
  const found = finding === null ? 'nothing found' : `found ${path.relative(root, finding)}`;
  return `${target.padEnd(12)} ${counts}, coverage ${coverage}, features ${features}, ${inputs} inputs kept: ${found}`;
}

/** To standard error where the standard output is for a program. */
function tell(line: string): void {
  (values.json ? console.error : console.log)(line);
}
