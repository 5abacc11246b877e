/** Runs `chasqui bench`: measures a model and prints the results. */
import { setMaxListeners } from 'node:events';
import type { ModelInfo } from '../../engine/engine.js';
import { exitCodeOf } from '../errors/exit-codes.js';
import { explainStart } from '../errors/explain-start.js';
import { findNamed } from '../hub/find-model.js';
import { givenOptions, toList } from '../options/table-options.js';
import { showStatus } from '../output/progress.js';
import { measureModel, type Plan } from './measure-model.js';
import type { Row } from './measure-row.js';
import { BENCH_OPTIONS, type BenchOptions, COMPUTING_OPTIONS } from './option-table.js';
import { describeModel, headLine, type JsonTest, jsonTests, leftOutLine, legend, rowLine } from './report.js';

const SIGNAL_CODES = { SIGINT: 130, SIGTERM: 143 };

export async function runBench(parsed: Readonly<Record<string, unknown>>): Promise<void> {
  const status = showStatus(process.stderr);
  const stop = new AbortController();
  // Each stream adds a listener.
  setMaxListeners(0, stop.signal);
  let path: string | undefined;
  for (const signal of Object.keys(SIGNAL_CODES) as (keyof typeof SIGNAL_CODES)[]) {
    process.once(signal, () => {
      process.exitCode = SIGNAL_CODES[signal];
      stop.abort(new Error('it was stopped'));
    });
  }
  try {
    const options = givenOptions(BENCH_OPTIONS, parsed);
    const load = givenOptions(COMPUTING_OPTIONS, parsed);
    [path = ''] = (await findNamed(options.model ?? 'demo')).paths;
    await measure({ ...planOf(options), path, load }, options.json ?? false, status, stop.signal);
  } catch (error) {
    status.clear();
    if (stop.signal.aborted) {
      console.error('chasqui: stopped; what was measured before is above');
      return;
    }
    console.error(`chasqui: ${await explainStart(error, { path })}`);
    process.exitCode = exitCodeOf(error);
  }
}

function planOf(options: BenchOptions): Omit<Plan, 'path' | 'load'> {
  const { promptTokens = BENCH_OPTIONS.promptTokens.default, newTokens = BENCH_OPTIONS.newTokens.default } = options;
  const { repetitions = BENCH_OPTIONS.repetitions.default, maxTimeMs = BENCH_OPTIONS.maxTimeMs.default } = options;
  return {
    streams: toList(options.streams ?? BENCH_OPTIONS.streams.otherwise).map(Number),
    depths: toList(options.depths ?? BENCH_OPTIONS.depths.otherwise).map(Number),
    lengths: { promptTokens, newTokens },
    patience: { repetitions, maxTimeMs },
  };
}

/** Prints rows as they complete; JSON after the last one, also if the run stops early. */
async function measure(
  plan: Plan,
  asJson: boolean,
  status: ReturnType<typeof showStatus>,
  signal: AbortSignal,
): Promise<void> {
  const tests: JsonTest[] = [];
  let model: ModelInfo | undefined;
  let hasHead = false;
  const print = (text: string) => {
    status.clear();
    console.log(text);
  };
  const watcher = {
    onWork: status.show,
    onModel: (found: ModelInfo) => {
      model = found;
      if (!asJson) print(describeModel(found));
    },
    onRow: (row: Row) => {
      if (!asJson) {
        if (!hasHead) print(headLine(plan.lengths));
        hasHead = true;
        print(rowLine(row));
        return;
      }
      status.clear();
      if (row.leftOut !== undefined) console.error(`chasqui: ${leftOutLine(row)}`);
      if (model !== undefined) tests.push(...jsonTests(model, row, plan.lengths));
    },
  };
  try {
    await measureModel(plan, watcher, signal);
    if (!asJson) print(legend(plan.lengths, plan.patience.repetitions));
  } finally {
    status.clear();
    if (asJson && tests.length > 0) console.log(JSON.stringify(tests, null, 2));
  }
}
