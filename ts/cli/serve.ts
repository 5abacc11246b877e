/** `chasqui serve`: a model behind an OpenAI-compatible server, until it is told to stop. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, Option } from 'commander';
import type { LoadOptions } from '../engine/load-options.js';
import { fetchModel } from '../hub/fetch-model.js';
import { BACKENDS } from '../native/module-files.js';
import type { Profile } from '../profiles/profile.js';
import { type Server, type StartSettings, start } from '../server/start.js';
import { stopOnSignals } from '../server/stop-on-signals.js';
import { baseUrl, curlLine } from './curl-line.js';
import { dataDir } from './data-dir.js';
import { explainFailure } from './explain-failure.js';
import { givenOptions } from './given-options.js';
import { addHostingOptions, type HostingOptions, hostingSettings, profileOf } from './hosting.js';
import { parseCount, parseCountOrZero, parseProbability, parseSeconds } from './numbers.js';
import { addOffloadOptions, type OffloadFlags, offloadSettings } from './offload-options.js';
import { OPTION_NAMES } from './option-names.js';
import { showProgress } from './progress.js';

const DEMO_MODEL = fileURLToPath(new URL('../../prebuilds/demo/chasqui-demo.gguf', import.meta.url));
const CTX_SIZE_DEFAULT = '(default: what the model was trained for, at most 4096)';

type Pooling = NonNullable<LoadOptions['pooling']>;

interface ServeOptions extends HostingOptions, OffloadFlags {
  model?: string;
  modelUrl?: string;
  ctxSize?: number;
  parallel?: number;
  backend?: (typeof BACKENDS)[number] | 'auto';
  threads?: number;
  alias?: string;
  maxQueue?: number;
  targetStepMs?: number;
  prepareTimeout?: number;
  cacheRam?: number;
  mmproj?: string | false;
  imageCacheMb?: number;
  draftMax?: number;
  draftMin?: number;
  draftPMin?: number;
  draftModel?: string;
  deterministic?: boolean;
  pooling?: Pooling;
}

export function serveCommand(): Command {
  const command = new Command('serve')
    .description('Serve a model at http://<host>:<port>/v1 until stopped by Ctrl-C or SIGTERM.')
    .option('-m, --model <path>', 'GGUF file to serve (default: the built-in demo model)')
    .addOption(
      new Option(
        '--model-url <url>',
        'GGUF file to fetch and serve; kept in the data folder (default: none)',
      ).conflicts('model'),
    )
    .option(
      '-c, --ctx-size <n>',
      `tokens that one conversation can hold, answer included ${CTX_SIZE_DEFAULT}`,
      parseCount,
    )
    .option('-j, --parallel <n>', 'answers computed at the same time; each takes memory (default: 4)', parseCount)
    .addOption(
      new Option('--backend <name>', 'what to compute with; auto: the best that passes a trial (chasqui doctor)')
        .choices(['auto', ...BACKENDS])
        .env('CHASQUI_BACKEND'),
    )
    .option(
      '-t, --threads <n>',
      'threads to compute with (default: one per physical core, fewer for very small models)',
      parseCount,
    )
    .option('-a, --alias <name>', "the model's name in requests (default: the file's name without .gguf)")
    .option('--max-queue <n>', 'requests that may wait; one more is answered 429 (default: 256)', parseCountOrZero)
    .option(
      '--target-step-ms <n>',
      'how long a step may take while answers are running, in ms; prompts are sliced to fit (default: 100)',
      parseCount,
    )
    .option(
      '--prepare-timeout <s>',
      'how long rendering, tokenizing and compiling what a request holds may take (default: 10)',
      parseSeconds,
    )
    .option(
      '--cache-ram <MiB>',
      'memory for conversations that had to give up their place (default: 1024)',
      parseCountOrZero,
    )
    .option(
      '--mmproj <path>',
      "GGUF file of the model's vision projector (default: mmproj-<model>.gguf, <model>-mmproj.gguf, " +
        '<model>.mmproj.gguf, or the only mmproj*.gguf beside the model where there is no other model)',
    )
    .option('--no-mmproj', 'take text only, whatever lies beside the model')
    .option(
      '--image-cache-mb <MiB>',
      'memory for encoded images, so that none is encoded twice (default: 256)',
      parseCountOrZero,
    )
    .option(
      '--draft-max <n>',
      'tokens to guess at a time while few answers are running, from the text so far; pays where answers quote ' +
        'their prompts (default: 0, none; 8 with --draft-model)',
      parseCountOrZero,
    )
    .option('--draft-model <path>', 'GGUF file of a small model with the same vocabulary, to guess with')
    .option('--draft-min <n>', 'guesses of the draft model that are shorter are not checked', parseCountOrZero)
    .option(
      '--draft-p-min <p>',
      'the draft model stops guessing at a token less probable than this (default: 0)',
      parseProbability,
    )
    .option(
      '--deterministic',
      'compute every answer alone and from its first token, so that equal requests get equal answers to the last ' +
        'bit of rounding; slow (default: share steps and prompt beginnings)',
    )
    .addOption(
      new Option(
        '--pooling <kind>',
        "how a text's embedding comes about; rank for reranking models whose file does not say so " +
          "(default: what the model's file says, or else mean)",
      ).choices(['mean', 'cls', 'last', 'rank']),
    )
    .helpOption('-h, --help', 'explain the options')
    .action(serve);
  return addHostingOptions(addOffloadOptions(command));
}

async function serve(options: ServeOptions): Promise<void> {
  const profile = profileOf(options);
  const progress = showProgress(process.stderr, 'Loading the model');
  try {
    const model = await modelPath(options);
    const server = await start(profile, {
      ...toSettings({ ...options, model }),
      hooks: { onProgress: progress.update },
    });
    progress.clear();
    stopOnSignals(
      () => server.stop(),
      () => console.error('chasqui: stopping; running answers may take a few seconds to finish'),
    );
    announce(server, profile, options);
  } catch (error) {
    progress.clear();
    console.error(`chasqui: ${explainFailure(error, { ...profile, ...options })}`);
    process.exit(1);
  }
}

async function modelPath({ model = DEMO_MODEL, modelUrl, dataDir: given }: ServeOptions): Promise<string> {
  if (modelUrl === undefined) return model;
  const progress = showProgress(process.stderr, 'Fetching the model');
  const stop = new AbortController();
  const onSignal = () => stop.abort(new Error('it was stopped'));
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, onSignal);
  try {
    const options = { onProgress: progress.update, signal: stop.signal };
    return await fetchModel(modelUrl, path.join(dataDir(given), 'models'), options);
  } finally {
    progress.clear();
    for (const signal of signals) process.off(signal, onSignal);
  }
}

function toSettings(options: ServeOptions & { model: string }): StartSettings {
  const { backend, parallel, threads, alias, maxQueue, targetStepMs, deterministic, pooling } = options;
  const { draftMax, draftMin, draftPMin, draftModel, prepareTimeout } = options;
  const { ctxSize: contextSize, cacheRam: cacheRamMiB, imageCacheMb: imageCacheMiB } = options;
  const hosting = hostingSettings(options);
  return {
    ...hosting,
    modelPath: options.model,
    model: {
      ...offloadSettings(options),
      ...givenOptions({
        backend,
        contextSize,
        parallel,
        threads,
        alias,
        maxQueue,
        targetStepMs,
        deterministic,
        pooling,
      }),
      ...(prepareTimeout !== undefined && { prepareTimeoutMs: prepareTimeout * 1000 }),
      ...givenOptions({ draftMax, draftMin, draftPMin, draftModel, cacheRamMiB, imageCacheMiB }),
      ...givenOptions({ mmproj: options.mmproj === false ? null : options.mmproj }),
    },
    app: {
      ...hosting.app,
      optionNames: OPTION_NAMES,
      onServerError: (error, requestId) => console.error(`chasqui: request ${requestId} failed:`, error),
    },
  };
}

function announce({ host, port, basePath, engine }: Server, profile: Profile, { auth }: HostingOptions): void {
  const needsKey = profile.authentication === 'key' && auth !== 'public';
  const base = `${baseUrl(host, port)}${basePath}`;
  const { id, generates, pooling } = engine.model;
  const asks = generates ? 'chat' : pooling === 'rank' ? 'rerank' : 'embeddings';
  const { placement, unfitted } = engine.model;
  console.log(`Serving ${id} at ${base}/v1`);
  if (placement.devices.length > 0) {
    console.log(`Layers on ${placement.devices.join(', ')}: ${placement.gpuLayers} of ${placement.layers}`);
  }
  if (unfitted !== undefined) console.error(`chasqui: ${unfitted}`);
  console.log(`Try it:\n\n  ${curlLine(base, id, process.platform, { needsKey, asks })}\n`);
  if (needsKey) console.log('Put a key in place of <API_KEY>; `chasqui keys create` makes one.');
}
