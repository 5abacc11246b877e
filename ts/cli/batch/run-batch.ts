/** Runs `chasqui batch run`. */
import fs from 'node:fs';
import readline from 'node:readline';
import { buildApp } from '../../api/app.js';
import {
  type BatchLine,
  checkLines,
  isBlank,
  type NumberedLine,
  readLine,
} from '../../api/openai/batches/read-lines.js';
import { runLines, sendThrough } from '../../api/openai/batches/run-lines.js';
import type { LoadOptions } from '../../engine/load-options.js';
import { InjectedRequests } from '../../http/injected-requests.js';
import { Metrics } from '../../metrics/metrics.js';
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import { runtime } from '../../profiles/runtime.js';
import { openPool } from '../../server/open-pool.js';
import { CommandFailed, EXIT, exitCodeOf } from '../errors/exit-codes.js';
import { explainStart } from '../errors/explain-start.js';
import { findNamed } from '../hub/find-model.js';
import { OPTION_NAMES } from '../options/option-names.js';
import { givenOptions } from '../options/table-options.js';
import { showStatus } from '../output/progress.js';
import { BATCH_OPTIONS } from './option-table.js';

const SHOWN_ERRORS = 10;
/** Without `Retry-After`, the engine does not start again. */
const UNAVAILABLE = 503;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export async function runBatch(file: string, parsed: Readonly<Record<string, unknown>>): Promise<void> {
  const stop = new AbortController();
  for (const signal of SIGNALS) process.once(signal, () => stop.abort());
  let path: string | undefined;
  try {
    const { model = 'demo', output = `${file.replace(/\.jsonl$/i, '')}.out.jsonl` } = givenOptions(
      BATCH_OPTIONS,
      parsed,
    );
    const load = givenOptions(LOAD_OPTIONS, parsed);
    const { count, errors } = await checkLines(linesOf(file), null, Infinity);
    if (errors.length > 0) throw invalid(file, errors);
    const results = await openResults(output);
    [path = ''] = (await findNamed(model)).paths;
    await compute({ file, path, load, count, results, stop });
    console.error(`chasqui: ${summary(results, count)} in ${output}`);
    if (results.failed > 0) process.exitCode = EXIT.failed;
  } catch (error) {
    if (stop.signal.aborted && !(stop.signal.reason instanceof CommandFailed)) {
      console.error('chasqui: stopped; run the command again to continue');
      process.exitCode = EXIT.interrupted;
      return;
    }
    console.error(`chasqui: ${error instanceof CommandFailed ? error.message : await explainStart(error, { path })}`);
    process.exitCode = exitCodeOf(error);
  }
}

interface Batch {
  file: string;
  path: string;
  load: LoadOptions;
  count: number;
  results: Results;
  stop: AbortController;
}

async function compute({ file, path, load, count, results, stop }: Batch): Promise<void> {
  const status = showStatus(process.stderr);
  const metrics = new Metrics();
  const models = openPool({ models: { paths: [path] }, model: load }, metrics, true);
  const app = buildApp(models.pool, { ...runtime, checksModelName: false }, { metrics, optionNames: OPTION_NAMES });
  const send = sendThrough(new InjectedRequests(app), '', {});
  try {
    await models.start((fraction) => status.show(`Loading the model: ${Math.floor(fraction * 100)} %`));
    await runLines(unfinished(file, results), {
      send: async (line, signal) => {
        const reply = await send(line, signal);
        if (reply.status === UNAVAILABLE && reply.retryAfterMs === null) stop.abort(engineFailed());
        return reply;
      },
      signal: stop.signal,
      // The next requests are prepared while all slots compute.
      concurrency: 2 * (load.parallel ?? LOAD_OPTIONS.parallel.default),
      onOutcome: ({ custom_id, succeeded, text }) => {
        results.add(custom_id, succeeded, text);
        status.show(summary(results, count));
      },
    });
  } finally {
    status.clear();
    await app.close();
    await models.close();
  }
}

async function* linesOf(file: string): AsyncGenerator<NumberedLine> {
  const input = fs.createReadStream(file, { fd: open(file) });
  let number = 0;
  for await (const line of readline.createInterface({ input, crlfDelay: Infinity })) {
    number += 1;
    yield { bytes: Buffer.from(line), number };
  }
}

function open(file: string): number {
  try {
    return fs.openSync(file, 'r');
  } catch (error) {
    throw new CommandFailed(EXIT.usage, `Could not read ${file}: ${(error as Error).message}`);
  }
}

async function* unfinished(file: string, results: Results): AsyncGenerator<BatchLine> {
  for await (const { bytes } of linesOf(file)) {
    if (isBlank(bytes)) continue;
    const line = readLine(bytes, null);
    if (!results.done.has(line.custom_id)) yield line;
  }
}

interface Results {
  done: ReadonlySet<string>;
  readonly failed: number;
  add(customId: string, succeeded: boolean, text: string): void;
}

/** Drops an incomplete last line, which a killed process leaves. */
async function openResults(output: string): Promise<Results> {
  const descriptor = fs.openSync(output, 'a+');
  const { size } = fs.fstatSync(descriptor);
  const done = new Set<string>();
  let failed = 0;
  let length = 0;
  for await (const { bytes } of linesOf(output)) {
    if (length + bytes.length >= size) break;
    length += bytes.length + 1;
    const { custom_id, response } = parseResult(bytes.toString(), output);
    done.add(custom_id);
    if (response?.status_code !== 200) failed += 1;
  }
  if (length < size) fs.ftruncateSync(descriptor, length);
  return {
    done,
    get failed() {
      return failed;
    },
    add(customId, succeeded, text) {
      fs.writeSync(descriptor, `${text}\n`);
      done.add(customId);
      if (!succeeded) failed += 1;
    },
  };
}

/** Refuses files of another kind, which the command must not extend. */
function parseResult(line: string, output: string): { custom_id: string; response?: { status_code?: number } | null } {
  try {
    const result = JSON.parse(line);
    if (typeof result.custom_id === 'string' && 'response' in result) return result;
  } catch {
    // Reported below.
  }
  throw new CommandFailed(EXIT.usage, `${output} exists and is not the output of a batch; choose another --output.`);
}

function engineFailed(): CommandFailed {
  return new CommandFailed(EXIT.failed, 'The engine failed repeatedly; run the command again to continue.');
}

function invalid(file: string, errors: readonly { line: number | null; message: string }[]): CommandFailed {
  const shown = errors.slice(0, SHOWN_ERRORS).map(({ line, message }) => `\n  line ${line ?? '-'}: ${message}`);
  return new CommandFailed(EXIT.usage, `${file} has invalid lines; nothing was run:${shown.join('')}`);
}

function summary({ done, failed }: Results, count: number): string {
  return `${done.size} of ${count} requests${failed === 0 ? '' : `, ${failed} failed`}`;
}
