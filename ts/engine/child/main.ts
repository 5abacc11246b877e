/**
 * The process of an engine: loads one model and computes for the server that started it, whose calls come through a pipe
 * (`frames.ts`); how it begins and ends is said on the control channel (`messages.ts`). It ends with its server.
 */
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { FIELDS_PER_RECORD, RECORD_FLAGS } from '../../native/addon.js';
import { loadAddon } from '../../native/load-addon.js';
import { openLocal } from '../local/open-local.js';
import { type CoreMethods, coreMethods } from './core-methods.js';
import { decodeValue, encodeEvents, encodeFrame, FRAME, FrameReader } from './frames.js';
import type { ControlMessage, StateMessage } from './messages.js';
import { PIPE_FD } from './start-child.js';
import { toWire } from './wire-error.js';

/** More likely to be ended for want of memory than the server, which can start another. */
const OOM_SCORE = '500';

const loading = new AbortController();
const pipe = new Socket({ fd: PIPE_FD, readable: true, writable: true });
let close = async (): Promise<void> => loading.abort(new Error('The server closed it.'));

// A terminal sends these to all of its processes; the server decides what becomes of this one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
// Whatever it is at, nobody will read the result: there is nothing to put in order.
const endNow = () => process.kill(process.pid, 'SIGKILL');
process.on('disconnect', endNow);
pipe.on('error', endNow).on('close', endNow);
preferForOutOfMemory();

process.on('message', (message: ControlMessage) => {
  if (message.do === 'open') open(message).catch((error) => tell({ state: 'failed', failure: toWire(error) }));
  else void close().then(() => process.exit(0));
});
tell({ state: 'started' });

async function open({ path, options, beatMs, coreDumps }: ControlMessage & { do: 'open' }): Promise<void> {
  loadAddon().addon.ownProcess(coreDumps);
  const { core, info } = await openLocal(
    path,
    options,
    { signal: loading.signal, onProgress: (fraction) => tell({ state: 'loading', fraction }) },
    (...events) => void pipe.write(encodeEvents(...events)),
  );
  const beat = setInterval(() => void core.stats().then((stats) => tell({ state: 'beat', stats })), beatMs);
  close = () => {
    clearInterval(beat);
    return core.close();
  };
  const methods = coreMethods(core, failJob);
  const reader = new FrameReader((_kind, payload) => void serve(methods, decodeValue(payload) as Call));
  pipe.on('data', (data: Buffer) => reader.push(data));
  tell({ state: 'ready', info });
}

type Call = [id: number, method: string, ...args: unknown[]];

/** Calls with the id 0 are not answered. */
async function serve(methods: CoreMethods, [id, method, ...args]: Call): Promise<void> {
  try {
    const value = await methods[method]?.(...args);
    if (id !== 0) pipe.write(encodeFrame(FRAME.result, [id, value]));
  } catch (thrown) {
    if (id !== 0) pipe.write(encodeFrame(FRAME.error, [id, toWire(thrown)]));
  }
}

/** As the engine reports it: a record that has nothing but the failure. */
function failJob(jobId: number, thrown: unknown): void {
  const record = Int32Array.of(jobId, 0, 0, RECORD_FLAGS.failure);
  pipe.write(encodeEvents(record, record.length / FIELDS_PER_RECORD, '', [toWire(thrown)]));
}

function tell(message: StateMessage): void {
  // When the channel is gone, so is the server.
  process.send?.(message, undefined, undefined, () => {});
}

function preferForOutOfMemory(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', OOM_SCORE);
  } catch {
    // Only Linux has it.
  }
}
