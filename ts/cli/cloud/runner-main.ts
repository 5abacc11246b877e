/**
 * The process of a runner: serves an app's models on a Unix socket, and reports its state to the control plane on a control
 * socket. It outlives the control plane, so a new one can adopt it, unless it was started to end with its parent.
 */
import { chmodSync, readFileSync } from 'node:fs';
import net from 'node:net';
import process from 'node:process';
import type { ResponseStore } from '../../api/openai/responses/store/response-store.js';
import { SqliteStore } from '../../api/openai/responses/store/sqlite-store.js';
import type { RunnerConfig, RunnerModel, RunnerStatus } from '../../cloud/runners/protocol.js';
import { servedModels } from '../../cloud/runners/served-models.js';
import { ChasquiError } from '../../errors.js';
import type { ModelEntry } from '../../models/pool.js';
import type { Profile } from '../../profiles/profile.js';
import { serverless } from '../../profiles/serverless.js';
import { type Server, start } from '../../server/start.js';
import { serverSettings } from '../serve/server-settings.js';

/** The gateway handles paths and keys. Only the local gateway can reach this socket. */
const PROFILE: Profile = { ...serverless, basePath: '', authentication: 'none' };

/** Time for the control plane to read the state of a failed runner. */
const TELL_MS = 10_000;
const STATUS_MS = 200;

const config = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as RunnerConfig;
Object.assign(process.env, config.environment);
const status: RunnerStatus = {
  bootId: config.bootId,
  pid: process.pid,
  state: 'loading',
  fraction: 0,
  models: [],
  failure: null,
};
const listeners = new Set<net.Socket>();
let server: Server | null = null;
let orphaned: NodeJS.Timeout | undefined;
let toldAt = 0;

if (config.endsWithParent) process.stdin.on('end', () => process.exit(0)).resume();
process.on('SIGTERM', () => void stop());
// Ignore Ctrl-C, which a terminal sends to the whole process group. The parent stops the runner.
process.on('SIGINT', () => {});
await serve();

async function serve(): Promise<void> {
  await listen();
  const { log } = serverSettings({ logFormat: 'text' });
  try {
    const failures: unknown[] = [];
    const served = servedModels([config, ...config.others]);
    server = await start(PROFILE, {
      ...served,
      models: { ...served.models, onFailure: (_id, error) => failures.push(error) },
      socketPath: config.socketPath,
      hooks: { onProgress: (fraction) => tellFraction(fraction) },
      app: { log, responses: openResponses(), isBehindGateway: true },
      shutdownTimeoutMs: config.drainMs,
    });
    const models = await server.load();
    // A failed model leaves the others loaded, but an app requires all of its models.
    if (failures.length > 0) throw failures[0];
    if (models !== null) tell({ state: 'ready', fraction: 1, models: models.flatMap(toRunnerModel) });
  } catch (error) {
    await fail(error);
  }
}

/** Omits adapters, which are warmed up with their model. */
function toRunnerModel({ engine, parent }: ModelEntry): RunnerModel[] {
  if (engine === null || parent !== null) return [];
  const { id, generates, pooling } = engine.model;
  return [{ id, generates, pooling }];
}

/** Without a store, completions work but are not stored. */
function openResponses(): ResponseStore | null {
  try {
    return SqliteStore.open(config.responsesFolder);
  } catch (error) {
    console.error(`chasqui: responses are not stored: ${(error as Error).message}`);
    return null;
  }
}

async function listen(): Promise<void> {
  const control = net.createServer((socket) => {
    clearTimeout(orphaned);
    listeners.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      listeners.delete(socket);
      awaitControlPlane();
    });
    socket.resume();
    socket.write(`${JSON.stringify(status)}\n`);
  });
  await new Promise<void>((resolve) => control.listen(config.controlPath, resolve));
  chmodSync(config.controlPath, 0o600);
  awaitControlPlane();
}

function awaitControlPlane(): void {
  clearTimeout(orphaned);
  if (listeners.size > 0) return;
  orphaned = setTimeout(() => {
    console.error('chasqui: stopping, because no control plane has contacted this runner');
    void stop();
  }, config.orphanMs);
}

function tell(change: Partial<RunnerStatus>): void {
  Object.assign(status, change);
  for (const socket of listeners) socket.write(`${JSON.stringify(status)}\n`);
}

function tellFraction(fraction: number): void {
  if (performance.now() - toldAt < STATUS_MS) return;
  toldAt = performance.now();
  tell({ fraction });
}

async function stop(): Promise<void> {
  if (status.state === 'draining') return;
  tell({ state: 'draining' });
  const code = await (server?.stop() ?? Promise.resolve()).then(
    () => 0,
    (error: unknown) => {
      console.error('chasqui: stopping failed:', error);
      return 1;
    },
  );
  process.exit(code);
}

async function fail(error: unknown): Promise<void> {
  const code = error instanceof ChasquiError ? error.code : 'internal_error';
  const message = error instanceof Error ? error.message : String(error);
  console.error(`chasqui: ${message}`);
  tell({ state: 'failed', failure: { code, message } });
  const deadline = performance.now() + TELL_MS;
  while (listeners.size === 0 && performance.now() < deadline) await new Promise((next) => setTimeout(next, 50));
  for (const socket of listeners) await new Promise<void>((sent) => socket.end(sent));
  process.exit(1);
}
