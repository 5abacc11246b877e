/**
 * Compares chasqui with llama-server and a bare llama_decode loop, on models with random weights: `npm run bench:peers`.
 *
 *   --rounds N        measured rounds after the warm-up (default 3)
 *   --threads N       threads of each subject (default: all cores)
 *   --rows A,B        run only these rows, named as in the second table
 *   --backend NAME    backend of all subjects: cpu (default), cuda, vulkan or metal
 *   --check-pictures  only compare completions about images with those of llama-server
 *   --check-loop      only compare the loop with llama-bench and llama-batched-bench
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { fewLayersModel, isFewLayersName } from '../../test/support/few-layers-model.js';
import { modelsFolder, root } from '../../test/support/places.js';
import { syntheticModel, widthOf } from '../../test/support/synthetic-model.js';
import { syntheticProjector, vitB16 } from '../../test/support/synthetic-projector.js';
import { backends, chooseBackend, isBackend } from './backend.js';
import { buildPeers, type Peers } from './build-peers.js';
import { checkLoop } from './check-loop.js';
import { checkPictures } from './check-pictures.js';
import { measure, type Outcome } from './measure.js';
import { logsFolder } from './places.js';
import { figuresTable, usageTable } from './report.js';
import type { Scenario } from './scenario.js';
import { scenarios } from './scenarios.js';
import { ourArguments, peerArguments, type Setting } from './subjects.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: String(availableParallelism()) },
    backend: { type: 'string', default: 'cpu' },
    rows: { type: 'string', default: scenarios.map(({ id }) => id).join(',') },
    'check-pictures': { type: 'boolean', default: false },
    'check-loop': { type: 'boolean', default: false },
  },
});
const rounds = Number(values.rounds);
const threads = Number(values.threads);

fs.mkdirSync(logsFolder, { recursive: true });
if (!isBackend(values.backend)) throw new Error(`--backend: there are ${backends.join(', ')}`);
const backend = await chooseBackend(values.backend);
const peers = await buildPeers(backend);
if (values['check-loop']) console.log(await checkLoop(peers, threads, backend));
else if (values['check-pictures']) {
  const { report, equal } = await checkPictures(peers, threads, backend);
  console.log(report);
  process.exitCode = equal ? 0 : 1;
} else await comparePeers(selectScenarios());

function selectScenarios(): Scenario[] {
  const wanted = values.rows.split(',');
  const unknown = wanted.filter((id) => !scenarios.some((scenario) => scenario.id === id));
  const known = scenarios.map(({ id }) => id).join(', ');
  if (unknown.length > 0) throw new Error(`--rows: ${unknown.join(', ')} is unknown; there are ${known}`);
  return scenarios.filter(({ id }) => wanted.includes(id));
}

async function comparePeers(selected: readonly Scenario[]): Promise<void> {
  const settings = new Map(selected.map((scenario) => [scenario, settingOf(scenario, peers)]));
  const loadBefore = load();
  const busy = (loadavg()[0] ?? 0) > 0.5;
  if (busy) console.error(`The load average is ${loadBefore}. Figures of a busy machine are unreliable.`);
  const outcomes: Outcome[] = [];
  for (const [scenario, setting] of settings) {
    console.error(`${scenario.id} ...`);
    try {
      const outcome = await measure(scenario, setting, scenario.rounds ?? rounds);
      outcomes.push(outcome);
      console.error(figuresTable([outcome]));
    } catch (error) {
      // Continue with the other rows.
      console.error(`${scenario.id} failed:`, error);
      process.exitCode = 1;
    }
  }
  console.log(`${figuresTable(outcomes)}\n\n${usageTable(outcomes)}\n\n${footer(settings, loadBefore)}`);
}

function settingOf(scenario: Scenario, { pathOf }: Peers): Setting {
  const { model } = scenario;
  const common = { threads, backend, llamaServer: pathOf('llama-server') };
  if (isFewLayersName(model)) return { ...common, modelPath: fewLayersModel(model) };
  const modelPath = syntheticModel(model, pathOf('llama-quantize'));
  const vision = scenario.hasVision
    ? { projectorPath: syntheticProjector({ ...vitB16, modelWidth: widthOf(model) }) }
    : {};
  const draft = scenario.draft ? { draftPath: syntheticModel(scenario.draft, pathOf('llama-quantize')) } : {};
  return { ...common, modelPath, ...draft, ...vision };
}

function footer(settings: ReadonlyMap<Scenario, Setting>, loadBefore: string): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const changes = git('status', '--porcelain') === '' ? '' : ' with uncommitted changes';
  const others = (of: (scenario: Scenario) => number | undefined) => {
    const own = [...settings.keys()].flatMap((each) => (of(each) === undefined ? [] : [`${each.id}: ${of(each)}`]));
    return own.length > 0 ? ` (${own.join(', ')})` : '';
  };
  const paragraphs = [
    `${cpus()[0]?.model}, ${availableParallelism()} cores, backend ${backend.name}, Node ${process.version}; chasqui ${git('rev-parse', '--short', 'HEAD')}${changes}. Load average ${loadBefore} before and ${load()} after.`,
    `The subjects run alternately. A figure is the median of ${rounds} rounds${others((each) => each.rounds)}, and a ratio is the median of the ratios of the rounds. One warm-up round precedes them; subjects in Node have more in some rows, and 0 means none for all subjects${others((each) => each.warmUp)}. Default work: 80 prompt tokens and 128 new tokens at temperature 0; end-of-text tokens are ignored. The clients run on the same cores. The main model has the shape of Qwen2-0.5B.`,
    'The bare loop calls llama_decode and selects the most probable token. It is linked with the llama.cpp of chasqui.',
    'The second table lists, for each row: user and system CPU time of the server process (median of the rounds), its peak memory, the CPU share of processes outside the benchmark, and the duration.',
    `llama-server is ${peers.description}. Flags of each row, without ports:`,
  ];
  const flags = [...settings].flatMap(([scenario, setting]) => [
    `- ${scenario.id}: \`llama-server ${commandLine(peerArguments(scenario, setting))}\`, \`chasqui ${commandLine(ourArguments(scenario, setting).slice(1))}\``,
  ]);
  return `${paragraphs.join('\n\n')}\n\n${flags.join('\n')}`;
}

function commandLine(args: readonly string[]): string {
  return args.join(' ').replaceAll(`${modelsFolder}/`, '');
}

function load(): string {
  return loadavg()
    .map((average) => average.toFixed(2))
    .join(' ');
}
