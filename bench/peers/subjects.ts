/** Starts the subjects with the same model, threads, context per sequence and number of sequences. */
import path from 'node:path';
import { root } from '../../test/support/places.js';
import { bareLoop } from '../subjects/bare-loop.js';
import { engine } from '../subjects/engine.js';
import { type HttpServer, httpServer } from '../subjects/http-server.js';
import { machineLimits } from '../subjects/machine-limits.js';
import type { Figures, Subject, Work } from '../work.js';
import type { ChosenBackend } from './backend.js';
import { logsFolder } from './places.js';
import { mainThreadSeconds } from './process-usage.js';
import type { Scenario, ServedRun, SubjectName } from './scenario.js';
import { userTemplateTokens } from './scenarios/prompts.js';

/** Tokens per draft of the draft model. */
const draftMax = 8;

export interface Contestant {
  name: SubjectName;
  /** Process to measure; `undefined` for this process. */
  pid?: number;
  run(round: number): Promise<Record<string, number>>;
  close(): Promise<void>;
}

export interface Setting {
  modelPath: string;
  /** Path of the draft model, if the scenario has one. */
  draftPath?: string;
  /** Path of the vision projector, if the scenario has one. */
  projectorPath?: string;
  threads: number;
  backend: ChosenBackend;
  llamaServer: string;
}

export function subjectsOf(scenario: Scenario, { backend }: Setting): SubjectName[] {
  const subjects = scenario.subjects ?? ['llama-server', 'chasqui'];
  return backend.name === 'cpu' ? subjects : subjects.filter((name) => name !== 'machine');
}

export async function startContestant(name: SubjectName, scenario: Scenario, setting: Setting): Promise<Contestant> {
  if (name === 'machine') {
    const { pid, run, close } = machineLimits(setting.modelPath, setting.threads);
    return { name, pid, run: async () => ({ ...(await run()) }), close };
  }
  if (name === 'loop' || name === 'in-process') return startLocal(name, scenario, setting);
  const isOurs = name === 'chasqui';
  const args = isOurs ? ourArguments(scenario, setting) : peerArguments(scenario, setting);
  const command = isOurs ? process.execPath : setting.llamaServer;
  const log = path.join(logsFolder, `${scenario.id}-${name}.log`);
  const start = () => httpServer({ name, command, args, log }, userTemplateTokens);
  if ('run' in scenario && scenario.startsEachRound) {
    return { name, run: (round) => runFromStart(start, scenario.run, round), close: async () => {} };
  }
  const startedAt = performance.now();
  const subject = await start();
  const { server, close } = subject;
  const streams = isOurs ? withScriptCost : streamsRun;
  const run =
    'work' in scenario ? streams(subject, scenario.work) : (round: number) => scenario.run(server, round, startedAt);
  return { name, pid: server.pid, run, close };
}

async function runFromStart(start: () => Promise<HttpServer>, run: ServedRun, round: number) {
  const startedAt = performance.now();
  const { server, close } = await start();
  try {
    return await run(server, round, startedAt);
  } finally {
    await close();
  }
}

async function startLocal(name: 'loop' | 'in-process', scenario: Scenario, setting: Setting): Promise<Contestant> {
  if (!('work' in scenario)) throw new Error(`${scenario.id} is for servers alone`);
  const { modelPath, threads, backend } = setting;
  const subject =
    name === 'loop'
      ? bareLoop(modelPath, threads, scenario.work, backend.module)
      : await engine(modelPath, threads, scenario.work, backend.name);
  const pid = subject.pid === undefined ? {} : { pid: subject.pid };
  return { name, ...pid, run: streamsRun(subject, scenario.work), close: () => subject.close() };
}

/** Adds the CPU microseconds of the JavaScript thread per token, requests included. */
function withScriptCost(subject: HttpServer, work: Work): Contestant['run'] {
  const run = streamsRun(subject, work);
  const { pid } = subject.server;
  return async (round) => {
    const before = mainThreadSeconds(pid);
    const figures = await run(round);
    const seconds = mainThreadSeconds(pid) - before;
    return { ...figures, scriptCost: (1e6 * seconds) / (work.streams * work.predictTokens) };
  };
}

function streamsRun(subject: Subject | HttpServer, work: Work): Contestant['run'] {
  return async (round) => {
    const { decodeRate, totalRate }: Figures = await subject.run(work, round);
    return { decodeRate, totalRate };
  };
}

export function ourArguments(scenario: Scenario, setting: Setting): string[] {
  const { draftPath, backend } = setting;
  // llama-server does not draft by default.
  const draft = draftPath === undefined ? { 'draft-max': 0 } : { 'draft-model': draftPath, 'draft-max': draftMax };
  const options = {
    ...commonOptions(scenario, setting),
    'ctx-size': scenario.contextSize,
    backend: backend.name,
    ...draft,
  };
  const more = 'ourFlags' in scenario ? (scenario.ourFlags ?? []) : [];
  return [path.join(root, 'dist', 'cli.js'), 'serve', ...flags(options), ...more];
}

/** llama-server's context size is the total of all sequences. */
export function peerArguments(scenario: Scenario, setting: Setting): string[] {
  const { draftPath } = setting;
  const draft =
    draftPath === undefined
      ? {}
      : { 'spec-type': 'draft-simple', 'spec-draft-model': draftPath, 'spec-draft-n-max': draftMax };
  const contextSize = scenario.contextSize * scenario.parallel;
  const options = { ...commonOptions(scenario, setting), 'ctx-size': contextSize, ...draft };
  return [...flags(options), '--no-webui', ...('peerFlags' in scenario ? (scenario.peerFlags ?? []) : [])];
}

function commonOptions({ parallel }: Scenario, { modelPath, projectorPath, threads }: Setting) {
  const eyes = projectorPath === undefined ? {} : { mmproj: projectorPath };
  return { model: modelPath, ...eyes, parallel, threads, alias: 'bench' };
}

function flags(options: Record<string, string | number>): string[] {
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
}
