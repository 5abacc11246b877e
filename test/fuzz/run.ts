/**
 * Builds the fuzzers and runs them: `npm run fuzz -- [options] [target ...]`. The options:
 *   --minutes N   for all of them together (2)
 *   --runs N      the most executions of each (no limit); 0: only the inputs that are known
 *   --until N     again and again, N executions of each in all; --minutes is then the time of a round
 *   --jobs N      how many run at a time (2)
 *   --seed N      another one is another run (1)
 *   --patience N  seconds that an input may take, with the sanitizers; more for a busy machine (10)
 *   --whole       with the product's own limits of texts and of work, which are divided by 32 otherwise
 *   --fast        without AddressSanitizer and most of UndefinedBehaviorSanitizer, and with inputs of at most 512 bytes
 *   --json        figures for a program
 * What they find is kept in build/fuzz/findings, what they learn in build/fuzz/corpus. A finding ends the run of its target,
 * and the command with code 1. To see one again: build/fuzz/bin/fuzz-TARGET build/fuzz/findings/FILE.
 *
 * build/fuzz/executions.json counts the executions of each target from one run to the next, for as long as neither its code
 * nor the patches change; the totals are printed at the end. An input that a target passes over before it gets to a parser
 * is no execution. --whole keeps all of this in build/fuzz-whole, --fast in build/fuzz-fast.
 *
 * --fast has four to eight times as many executions in the same time. It ends at an uncaught exception, at a signal, at a
 * failed assertion of libstdc++'s containers, at an index out of an array's bounds and at undefined arithmetic; a read of
 * memory that was freed or is another's it does not see. So what it learns is for a run without it, which begins with that:
 * `--fast --until 10000000`, and `--runs 0` after it, is ten million executions, and each that was new in some way once more
 * under the sanitizers. Each round of --fast begins with the fewest inputs that have all that was learned.
 *
 * A second of one core of a busy machine had 11,000 executions of image, 4,000 of reply, 2,400 of schema, 1,100 of gbnf and
 * 1,000 of conversation. Before that, reply and conversation take six seconds to read the templates: of their rates a round
 * of a minute tells little.
 *
 * Speed is what finds faults: inputs are short, limits are small, what is the same for all inputs (vocabularies, templates,
 * formats of replies) is read once, and leaks are looked for at the end of a run, or after each input that is known.
 */
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { flac, tone, wav } from '../support/audio-files.js';
import { DRAWING, FORMATS, picture } from '../support/image-files.js';
import { progressiveJpeg } from '../support/progressive-jpeg.js';
import { digestOf, ExecutionTally, type Total } from './tally.js';

const here = import.meta.dirname;
const root = path.join(here, '..', '..');
/** The longest input that libFuzzer makes; where repetitions are written short, the text is longer. */
const TARGETS: Record<string, { longest: number }> = {
  audio: { longest: 4096 },
  conversation: { longest: 1024 },
  gbnf: { longest: 256 },
  image: { longest: 1024 },
  reply: { longest: 256 },
  schema: { longest: 768 },
  tokenizer: { longest: 128 },
};
/** With --fast; conversations of 1024 bytes take nearly twice as long as these, and reach two hundredths more of the code. */
const FAST_LONGEST = 512;
/** The vocabularies and templates that a target keeps take a third of it. */
const MAX_MEMORY_MIB = 2048;
/** A target that has read all templates may be in the middle of an input when its time is over. */
const GRACE_SECONDS = 60;
/** The code that the fuzzers run. */
const LOOKED_AT = ['test/fuzz', 'native/core', 'native/llama', 'vendor/llama.json', 'vendor/patches'];
const TOLD_LINES = 12;
/**
 * To note where each allocation was made takes as long as the rest of it. Memory that was freed is kept from use for as long
 * as fits into a core's cache: with sixteen times as much a search is slower by half.
 */
const FAST = {
  // Without AddressSanitizer: a larger cache of small blocks.
  GLIBC_TUNABLES: 'glibc.malloc.tcache_count=1000',
  ASAN_OPTIONS: 'quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=0:detect_leaks=1',
};
/** Known inputs are few, so this may take longer. */
const THOROUGH = { ASAN_OPTIONS: 'quarantine_size_mb=64:malloc_context_size=0:detect_leaks=1' };

interface Outcome {
  target: string;
  /** Inputs that got to a parser. */
  executions: number;
  /** Executions per second of CPU time, which other load does not affect. */
  perSecond: number;
  coverage: number;
  features: number;
  inputs: number;
  finding: string | null;
  seconds: number;
}

interface Ended {
  log: string;
  isGood: boolean;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '2' },
    runs: { type: 'string', default: '-1' },
    until: { type: 'string', default: '0' },
    jobs: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    patience: { type: 'string', default: '10' },
    whole: { type: 'boolean', default: false },
    fast: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const { minutes, runs, until, jobs, seed, patience } = numbersOf(values);
const unknown = positionals.find((name) => !(name in TARGETS));
const areWhole = [runs, until, jobs, seed].every(Number.isInteger);
if (unknown !== undefined || !areWhole || !(minutes > 0 && jobs > 0 && until >= 0 && patience > 0)) {
  const options = '--minutes, --runs, --until, --jobs, --seed, --patience, --whole, --fast, --json';
  console.error(`fuzz takes ${options}, and of ${Object.keys(TARGETS).join(', ')}`);
  process.exit(2);
}
const sanitized = path.join(root, 'build', values.whole ? 'fuzz-whole' : 'fuzz');
const fast = `${sanitized}-fast`;
const build = values.fast ? fast : sanitized;
const findings = path.join(build, 'findings');
const tally = new ExecutionTally(path.join(build, 'executions.json'));
const targets = positionals.length > 0 ? positionals : Object.keys(TARGETS);
const running = new Set<ReturnType<typeof spawn>>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));

// As it is now: it may change while the fuzzers run.
const codes = new Map(targets.map((target) => [target, digestOfCode(target)]));
buildTargets();
writeAudio();
await writeImages();
const outcomes = await runAll();
const totals = Object.fromEntries(targets.map((target) => [target, total(target)]));
if (values.json) console.log(JSON.stringify({ runs: outcomes, totals }, null, 2));
for (const [target, sum] of Object.entries(totals)) if (sum) tell(summaryOf(target, sum));
process.exitCode = outcomes.every(({ finding }) => finding === null) ? 0 : 1;

function numbersOf<Name extends string>(texts: Record<Name, string | boolean>): Record<Name, number> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Number(text)])) as Record<Name, number>;
}

function buildTargets(): void {
  const started = Date.now();
  const definitions = ['CMAKE_BUILD_TYPE=Release', 'CHASQUI_FUZZ=ON', `CHASQUI_FUZZ_DIVISOR=${values.whole ? 1 : 32}`];
  definitions.push(`CHASQUI_FUZZ_SANITIZE=${values.fast ? 'OFF' : 'ON'}`);
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

/** The audio files that the fuzzer of audio begins with. */
function writeAudio(): void {
  const folder = seedsOf('audio');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'wav'), wav(tone(0.1, 440)));
  fs.writeFileSync(path.join(folder, 'wav-stereo'), wav(tone(0.1, 440, 8000), { channels: 2, sampleRate: 4000 }));
  fs.writeFileSync(path.join(folder, 'flac'), flac(tone(0.1, 440)));
  // Frames of MPEG-1 layer III, 32 kbit/s and 32 kHz, without any bits of samples.
  const frame = Buffer.concat([Buffer.from([0xff, 0xfb, 0x18, 0xc4]), Buffer.alloc(140)]);
  fs.writeFileSync(path.join(folder, 'mp3'), Buffer.concat(Array(4).fill(frame)));
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
  const isWritten = target === 'audio' || target === 'image';
  return isWritten ? path.join(build, 'seeds', target) : path.join(here, 'corpus', target);
}

function longestOf(target: string): number {
  const { longest } = TARGETS[target] as { longest: number };
  return values.fast ? Math.min(longest, FAST_LONGEST) : longest;
}

async function runAll(): Promise<Outcome[]> {
  fs.mkdirSync(findings, { recursive: true });
  const done: Outcome[] = [];
  let wanted = targets;
  for (let round = 0; wanted.length > 0; ++round) {
    done.push(...(await runRound(wanted, seed + round)));
    const failed = new Set(done.filter(({ finding }) => finding !== null).map(({ target }) => target));
    const isShort = (target: string) => (total(target)?.executions ?? 0) < until;
    wanted = wanted.filter((target) => !failed.has(target) && isShort(target));
  }
  return done;
}

/** Corpus of a target, for one kind of build. */
function learnedBy(target: string, itsBuild: string): string {
  return path.join(itsBuild, 'corpus', target);
}

/**
 * Leaves the fewest of the inputs in a folder that have all of its features. A long search writes a file for each input that
 * becomes shorter, and the next run would begin with all of them.
 */
async function distil(binary: string, folder: string, seconds: number): Promise<void> {
  const fewest = `${folder}.fewest`;
  fs.rmSync(fewest, { recursive: true, force: true });
  fs.mkdirSync(fewest);
  const { isGood } = await run(binary, ['-merge=1', fewest, folder], seconds, FAST);
  if (!isGood) return;
  fs.rmSync(folder, { recursive: true });
  fs.renameSync(fewest, folder);
}

/** Each of the targets once. */
async function runRound(wanted: readonly string[], roundSeed: number): Promise<Outcome[]> {
  const turns = Math.ceil(wanted.length / jobs);
  const seconds = Math.max(1, Math.floor((minutes * 60) / turns));
  const waiting = [...wanted];
  const done: Outcome[] = [];
  const work = async (): Promise<void> => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      done.push(await runTarget(target, seconds, roundSeed));
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  return done;
}

/** A digest of what a target looks at; of the targets, only its own file belongs to that. */
function digestOfCode(target: string): string {
  const isCode = (file: string) => /\.(cpp|h|txt|patch|json)$/.test(file);
  const others = new Set(
    Object.keys(TARGETS)
      .filter((name) => name !== target)
      .map((name) => `test/fuzz/${name}.cpp`),
  );
  return digestOf(root, LOOKED_AT, (file) => isCode(file) && !others.has(file));
}

function total(target: string): Total | undefined {
  return tally.total(target, codes.get(target) as string);
}

async function runTarget(target: string, seconds: number, itsSeed: number): Promise<Outcome> {
  const binary = path.join(build, 'bin', `fuzz-${target}`);
  const learned = learnedBy(target, build);
  fs.mkdirSync(learned, { recursive: true });
  if (values.fast && runs !== 0) await distil(binary, learned, seconds);
  const others = [seedsOf(target), ...(values.fast ? [] : [learnedBy(target, fast)])];
  const args = [
    `-max_total_time=${seconds}`,
    `-runs=${runs}`,
    `-seed=${itsSeed}`,
    `-max_len=${longestOf(target)}`,
    `-dict=${path.join(here, 'dictionaries', `${target}.dict`)}`,
    `-artifact_prefix=${path.join(findings, `${target}-`)}`,
    `-timeout=${patience}`,
    `-report_slow_units=${patience}`,
    `-rss_limit_mb=${MAX_MEMORY_MIB}`,
    // After an input, this takes as long as hundreds of inputs. At the end of a run the sanitizer looks for leaks by itself.
    `-detect_leaks=${runs === 0 ? 1 : 0}`,
    // To weigh inputs by how rare their features are takes longer than to run them.
    '-entropic=0',
    '-reload=0',
    '-print_final_stats=1',
    learned,
    ...others.filter((folder) => fs.existsSync(folder)),
  ];
  const started = Date.now();
  const { log, isGood } = await run(binary, args, seconds, runs === 0 ? THOROUGH : FAST);
  const [, coverage = 0, features = 0, inputs = 0] =
    [...log.matchAll(/cov: (\d+) ft: (\d+) corp: (\d+)/g)].at(-1) ?? [];
  const executions = statistic(log, 'executions');
  const took = (Date.now() - started) / 1000;
  const outcome: Outcome = {
    target,
    executions,
    perSecond: Math.round((executions * 1000) / Math.max(1, statistic(log, 'cpu_ms'))),
    coverage: Number(coverage),
    features: Number(features),
    inputs: Number(inputs),
    finding: /Test unit written to (\S+-(?:crash|leak|oom|timeout)-\S+)/.exec(log)?.[1] ?? null,
    seconds: Math.round(took),
  };
  if (!isGood) outcome.finding ??= 'none was kept: it ended by itself';
  const { seconds: spent, finding } = outcome;
  // Known inputs are no search.
  if (runs !== 0) {
    tally.add(target, codes.get(target) as string, { executions, seconds: spent, findings: finding === null ? 0 : 1 });
  }
  tell(summary(outcome));
  if (finding !== null) await tellFinding(binary, finding, log);
  return outcome;
}

/** Once more, with the stacks of allocations. What does not come again was told by the first log. */
async function tellFinding(binary: string, finding: string, log: string): Promise<void> {
  const again = fs.existsSync(finding) ? await run(binary, [`-timeout=${patience}`, finding], patience, {}) : null;
  const lines = (again === null || again.isGood ? log : again.log).split('\n').filter(isTelling);
  tell(lines.slice(0, TOLD_LINES).join('\n'));
}

/** Its log, whatever its end was, and whether that was a good one. */
function run(command: string, args: string[], seconds: number, more: Record<string, string>): Promise<Ended> {
  const env = { ...process.env, UBSAN_OPTIONS: 'print_stacktrace=1', ...more };
  const child = spawn(command, args, { env, cwd: findings, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  const timer = setTimeout(() => child.kill('SIGKILL'), (seconds + GRACE_SECONDS + 2 * patience) * 1000);
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      // Progress is no part of any report.
      if (log.length > 4 << 20) log = log.slice(2 << 20);
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => {
      clearTimeout(timer);
      running.delete(child);
      resolve({ log, isGood: code === 0 });
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
  const counts = `${executions} executions in ${seconds} s (${perSecond} a second of CPU time)`;
  const found = finding === null ? 'nothing found' : `found ${path.relative(root, finding)}`;
  return `${target.padEnd(12)} ${counts}, coverage ${coverage}, features ${features}, ${inputs} inputs kept: ${found}`;
}

function summaryOf(target: string, { executions, seconds, findings: found, runs: times, since }: Total): string {
  const hours = (seconds / 3600).toFixed(1);
  return `${target.padEnd(12)} in all ${executions} executions, ${times} runs, ${hours} h since ${since}, ${found} findings`;
}

/** To standard error where the standard output is for a program. */
function tell(line: string): void {
  (values.json ? console.error : console.log)(line);
}
