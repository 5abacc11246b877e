/**
 * What the processes of an engine and of its preparation have in common: they work for the server that started them, whose
 * calls come through a pipe (`frames.ts`); how they begin and end is said on the control channel (`messages.ts`). They end
 * with their server.
 */
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { FIELDS_PER_RECORD, type NativeStats, RECORD_FLAGS } from '../../native/addon.js';
import { loadAddon } from '../../native/load-addon.js';
import type { OnCoreEvents } from '../core.js';
import type { ModelInfo } from '../engine.js';
import type { LoadHooks } from '../load-options.js';
import { PIPE_FD } from './child-scripts.js';
import type { CoreMethods } from './core-methods.js';
import { decodeValue, encodeEvents, encodeFrame, FRAME, FrameReader } from './frames.js';
import type { ControlMessage, StateMessage } from './messages.js';
import { toWire } from './wire-error.js';

export type OpenMessage = ControlMessage & { do: 'open' };

/** How what was opened speaks to the server. */
export interface Link extends LoadHooks {
  sendEvents: OnCoreEvents;
  /** Tells what is wrong with a job, as the engine reports it: a record that has nothing but the failure. */
  failJob(jobId: number, thrown: unknown): void;
}

/** What was opened. */
export interface Served {
  info: ModelInfo | null;
  methods: CoreMethods;
  stats(): Promise<NativeStats | null>;
  close(): Promise<void>;
}

export interface Service {
  open(message: OpenMessage, link: Link): Promise<Served>;
  /** Ends the process in good order. */
  exit(): void;
  /** How readily the kernel ends it for want of memory: from 0, as any process, to 1000. */
  oomScore: number;
}

export function serveParent({ open, exit, oomScore }: Service): void {
  const loading = new AbortController();
  const pipe = new Socket({ fd: PIPE_FD, readable: true, writable: true });
  let close = async (): Promise<void> => loading.abort(new Error('The server closed it.'));
  endWithParent(pipe);
  preferForOutOfMemory(oomScore);

  const serve = async (message: OpenMessage): Promise<void> => {
    loadAddon().addon.ownProcess(message.coreDumps);
    const served = await open(message, linkTo(pipe, loading.signal));
    const beat = setInterval(() => void served.stats().then((stats) => tell({ state: 'beat', stats })), message.beatMs);
    close = () => {
      clearInterval(beat);
      return served.close();
    };
    const reader = new FrameReader((_kind, payload) => void answer(served.methods, decodeValue(payload) as Call, pipe));
    pipe.on('data', (data: Buffer) => reader.push(data));
    tell({ state: 'ready', info: served.info });
  };

  process.on('message', (message: ControlMessage) => {
    if (message.do === 'open') serve(message).catch((error) => tell({ state: 'failed', failure: toWire(error) }));
    else void close().then(exit);
  });
  tell({ state: 'started' });
}

function endWithParent(pipe: Socket): void {
  // A terminal sends these to all of its processes; the server decides what becomes of this one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  // Whatever it is at, nobody will read the result: there is nothing to put in order.
  const endNow = () => process.kill(process.pid, 'SIGKILL');
  process.on('disconnect', endNow);
  pipe.on('error', endNow).on('close', endNow);
}

function linkTo(pipe: Socket, signal: AbortSignal): Link {
  return {
    signal,
    onProgress: (fraction) => tell({ state: 'loading', fraction }),
    sendEvents: (...events) => void pipe.write(encodeEvents(...events)),
    failJob: (jobId, thrown) => {
      const record = Int32Array.of(jobId, 0, 0, RECORD_FLAGS.failure);
      pipe.write(encodeEvents(record, record.length / FIELDS_PER_RECORD, '', [toWire(thrown)]));
    },
  };
}

type Call = [id: number, method: string, ...args: unknown[]];

/** Calls with the id 0 are not answered. */
async function answer(methods: CoreMethods, [id, method, ...args]: Call, pipe: Socket): Promise<void> {
  try {
    const value = await methods[method]?.(...args);
    if (id !== 0) pipe.write(encodeFrame(FRAME.result, [id, value]));
  } catch (thrown) {
    if (id !== 0) pipe.write(encodeFrame(FRAME.error, [id, toWire(thrown)]));
  }
}

function tell(message: StateMessage): void {
  // When the channel is gone, so is the server.
  process.send?.(message, undefined, undefined, () => {});
}

/** More likely than the server, which can start another. */
function preferForOutOfMemory(score: number): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', String(score));
  } catch {
    // Only Linux has it.
  }
}
