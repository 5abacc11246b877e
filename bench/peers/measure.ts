import fs from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../work.js';
import type { Measured } from './goals.js';
import { cpuSeconds, cpuSecondsOfEnded, residentMegabytes, systemBusySeconds } from './process-usage.js';
import { type Line, runTimeoutMs, type Scenario, type SubjectName } from './scenario.js';
import { type Contestant, type Setting, startContestant, subjectsOf } from './subjects.js';

/** CPU time of a server in one round, and its peak memory. */
export interface Usage {
  cpuSeconds: number;
  peakMegabytes: number;
}

export interface Outcome {
  scenario: Scenario;
  lines: { line: Line; measured: Measured }[];
  usage: Map<SubjectName, Usage>;
  /** Share of the CPU time used by processes other than the subjects and the benchmark, 0 to 1. */
  takenByOthers: number;
  /** Total duration, warm-up rounds included. */
  seconds: number;
}

interface Sample {
  figures: Record<string, number>;
  cpuSeconds: number;
}

type Samples = Map<SubjectName, Sample[]>;

/** ggml's threads keep polling after the last completion, which would slow down the next subject. */
const settleMs = 1000;

/**
 * Runs the subjects alternately (A B C A B C ...) after the warm-up rounds, so a drift of the machine's speed affects all of
 * them.
 */
export async function measure(scenario: Scenario, setting: Setting, rounds: number): Promise<Outcome> {
  const contestants: Contestant[] = [];
  const startedAt = performance.now();
  try {
    for (const name of subjectsOf(scenario, setting)) contestants.push(await startContestant(name, scenario, setting));
    const samples: Samples = new Map(contestants.map(({ name }) => [name, []]));
    const { warmUp = 1 } = scenario;
    for (let round = 0; round < warmUp; round++) {
      for (const contestant of contestants) if (round === 0 || runsInNode(contestant)) await sample(contestant, round);
    }
    const watch = watchOthers(contestants);
    for (let round = warmUp; round < warmUp + rounds; round++) {
      for (const contestant of contestants) samples.get(contestant.name)?.push(await sample(contestant, round));
    }
    const takenByOthers = watch();
    const lines = scenario.lines.map((line) => ({ line, measured: measuredOf(line, samples) }));
    const seconds = (performance.now() - startedAt) / 1000;
    return { scenario, lines, usage: usageOf(contestants, samples), takenByOthers, seconds };
  } finally {
    await Promise.all(contestants.map((contestant) => contestant.close()));
  }
}

/** Subjects in Node need several warm-up rounds because V8 keeps optimizing; compiled programs need one. */
function runsInNode({ name }: Contestant): boolean {
  return name === 'chasqui' || name === 'in-process';
}

async function sample(contestant: Contestant, round: number): Promise<Sample> {
  const before = usedCpu(contestant);
  const figures = await withTimeout(contestant.run(round), `${contestant.name} in round ${round}`);
  await sleep(settleMs);
  return { figures, cpuSeconds: usedCpu(contestant) - before };
}

async function withTimeout<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took too long`)), runTimeoutMs + 5000);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function usedCpu({ pid }: Contestant): number {
  return cpuSeconds(pid ?? process.pid);
}

/** @returns a function that returns the share of CPU time that other processes have used since */
function watchOthers(contestants: readonly Contestant[]): () => number {
  const pids = new Set([process.pid, ...contestants.flatMap(({ pid }) => pid ?? [])]);
  const now = () => {
    const own = [...pids].reduce((sum, pid) => sum + cpuSeconds(pid), cpuSecondsOfEnded(process.pid));
    return { others: systemBusySeconds() - own, time: performance.now() / 1000 };
  };
  const before = now();
  return () => {
    const after = now();
    const available = (after.time - before.time) * availableParallelism();
    return Math.max(0, (after.others - before.others) / available);
  };
}

function measuredOf({ figure, ours }: Line, samples: Samples): Measured {
  const figuresOf = (name: SubjectName) => samples.get(name)?.map(({ figures }) => figures[figure] ?? Number.NaN) ?? [];
  const ratioTo = (name: SubjectName) => {
    const others = figuresOf(name);
    return median(figuresOf(ours).map((each, round) => each / (others[round] ?? Number.NaN)));
  };
  const compared = { server: median(figuresOf('llama-server')), ours: median(figuresOf(ours)) };
  const loop = samples.has('loop') ? { loop: median(figuresOf('loop')), oursToLoop: ratioTo('loop') } : {};
  const machine = samples.has('machine')
    ? { machine: median(figuresOf('machine')), oursToMachine: ratioTo('machine') }
    : {};
  return { ...compared, oursToServer: ratioTo('llama-server'), ...loop, ...machine };
}

function usageOf(contestants: readonly Contestant[], samples: Samples): Map<SubjectName, Usage> {
  const used = contestants.flatMap(({ name, pid }) => {
    if (pid === undefined || !fs.existsSync(`/proc/${pid}`)) return [];
    const seconds = median(samples.get(name)?.map((each) => each.cpuSeconds) ?? []);
    return [[name, { cpuSeconds: seconds, peakMegabytes: residentMegabytes(pid).peak }] as const];
  });
  return new Map(used);
}
