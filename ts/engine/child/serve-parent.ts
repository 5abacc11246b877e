/**
 * The child's side of both kinds of process, worker and preparation. Calls of the server come through a pipe (`frames.ts`);
 * start and end are agreed on the control channel (`messages.ts`). A child ends with its server.
 */
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { deserialize } from 'node:v8';
import { FIELDS_PER_RECORD, type NativeStats, RECORD_FLAGS } from '../../native/addon.js';
import { loadAddon } from '../../native/load-addon.js';
import type { CallArgs, CallName, CallTarget } from '../calls.js';
import type { OnCoreEvents } from '../core.js';
import type { ModelInfo } from '../engine-types.js';
import type { LoadHooks } from '../load-options.js';
import { PIPE_FD } from './child-scripts.js';
import { encodeEvents, encodeFrame, FRAME, FrameReader } from './frames.js';
import type { ControlMessage, StateMessage } from './messages.js';
import { toWire } from './wire-error.js';

export type OpenMessage = ControlMessage & { do: 'open' };

/** Reports to the server. */
export interface Link extends LoadHooks {
  sendEvents: OnCoreEvents;
  /** Reports an error in a job as the engine does: by a record that holds only the failure. */
  failJob(jobId: number, thrown: unknown): void;
}

export interface Served {
  info: ModelInfo | null;
  /** Runs calls, and has a method for each message without a result. */
  target: CallTarget;
  stats(): Promise<NativeStats | null>;
  close(): Promise<void>;
}

export interface Service {
  open(message: OpenMessage, link: Link): Promise<Served>;
  exit(): void;
  /** The process's `oom_score_adj`, above that of the server, which can start another process. */
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
    const reader = new FrameReader((_kind, payload) => void answer(served.target, deserialize(payload) as Call, pipe));
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
  // A terminal sends these to all of its processes, but the server decides when this one ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  // Nothing needs to be saved, and no result can be delivered.
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

type Call = [id: number, method: string, args: unknown[], owner: number];

/** A call with the id 0 is a message: it has no owner and no result. */
async function answer(target: CallTarget, [id, method, args, owner]: Call, pipe: Socket): Promise<void> {
  if (id === 0) {
    (target as unknown as Record<string, (...args: unknown[]) => void>)[method]?.(...args);
    return;
  }
  try {
    const value = await target.run(method as CallName, args as CallArgs<CallName>, owner);
    pipe.write(encodeFrame(FRAME.result, [id, value]));
  } catch (thrown) {
    pipe.write(encodeFrame(FRAME.error, [id, toWire(thrown)]));
  }
}

function tell(message: StateMessage): void {
  // If the channel is closed, the server is gone.
  process.send?.(message, undefined, undefined, () => {});
}

function preferForOutOfMemory(score: number): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', String(score));
  } catch {
    // Only Linux has it.
  }
}
