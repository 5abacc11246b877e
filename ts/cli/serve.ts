/** `chasqui serve`: a model behind an OpenAI-compatible server, until it is told to stop. */
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { DEFAULT_BODY_LIMIT } from '../http/app.js';
import { runtime } from '../profiles/runtime.js';
import { type Server, type StartSettings, start } from '../profiles/start.js';
import { stopOnSignals } from '../profiles/stop-on-signals.js';
import { baseUrl, curlLine } from './curl-line.js';
import { explainFailure } from './explain-failure.js';
import { parseCount, parseCountOrZero, parsePort } from './numbers.js';
import { showProgress } from './progress.js';

const DEMO_MODEL = fileURLToPath(new URL('../../prebuilds/demo/chasqui-demo.gguf', import.meta.url));
const MIB = 1024 * 1024;
const CTX_SIZE_DEFAULT = '(default: what the model was trained for, at most 4096)';

interface ServeOptions {
  model?: string;
  host: string;
  port: number;
  ctxSize?: number;
  parallel?: number;
  threads?: number;
  alias?: string;
  maxQueue?: number;
  targetStepMs?: number;
  cacheRam?: number;
  draftMax?: number;
  deterministic?: boolean;
  strict?: boolean;
  bodyLimit: number;
}

export function serveCommand(): Command {
  return new Command('serve')
    .description('Serve a model at http://<host>:<port>/v1 until stopped by Ctrl-C or SIGTERM.')
    .option('-m, --model <path>', 'GGUF file to serve (default: the built-in demo model)')
    .option('--host <address>', 'address to listen at; 0.0.0.0 for all of this machine', runtime.host)
    .option('-p, --port <n>', 'port to listen at; 0 for any free one', parsePort, runtime.port)
    .option(
      '-c, --ctx-size <n>',
      `tokens that one conversation can hold, answer included ${CTX_SIZE_DEFAULT}`,
      parseCount,
    )
    .option('-j, --parallel <n>', 'answers computed at the same time; each takes memory (default: 4)', parseCount)
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
      '--cache-ram <MiB>',
      'memory for conversations that had to give up their place (default: 1024)',
      parseCountOrZero,
    )
    .option(
      '--draft-max <n>',
      'tokens to guess at a time from the text so far while few answers are running; pays where answers quote ' +
        'their prompts (default: 0, none)',
      parseCountOrZero,
    )
    .option(
      '--deterministic',
      'compute every answer alone and from its first token, so that equal requests get equal answers to the last ' +
        'bit of rounding; slow (default: share steps and prompt beginnings)',
    )
    .option('--strict', 'refuse request fields that are not known (default: ignore them, and say so in a header)')
    .option('--body-limit <MiB>', 'largest request body', parseCount, DEFAULT_BODY_LIMIT / MIB)
    .helpOption('-h, --help', 'explain the options')
    .action(serve);
}

async function serve(options: ServeOptions): Promise<void> {
  const progress = showProgress(process.stderr);
  try {
    const server = await start(runtime, toSettings(options, progress.update));
    progress.clear();
    stopOnSignals(
      () => server.stop(),
      () => console.error('chasqui: stopping; running answers may take a few seconds to finish'),
    );
    announce(server);
  } catch (error) {
    progress.clear();
    console.error(`chasqui: ${explainFailure(error, options)}`);
    process.exit(1);
  }
}

function toSettings(options: ServeOptions, onProgress: (fraction: number) => void): StartSettings {
  const { ctxSize, parallel, threads, alias, maxQueue, targetStepMs, cacheRam, draftMax, deterministic } = options;
  return {
    modelPath: options.model ?? DEMO_MODEL,
    host: options.host,
    port: options.port,
    model: {
      onProgress,
      ...(ctxSize !== undefined && { contextSize: ctxSize }),
      ...(parallel !== undefined && { parallel }),
      ...(threads !== undefined && { threads }),
      ...(alias !== undefined && { alias }),
      ...(maxQueue !== undefined && { maxQueue }),
      ...(targetStepMs !== undefined && { targetStepMs }),
      ...(deterministic !== undefined && { deterministic }),
      ...(draftMax !== undefined && { draftMax }),
      ...(cacheRam !== undefined && { cacheRamMiB: cacheRam }),
    },
    app: {
      strict: options.strict ?? false,
      bodyLimit: options.bodyLimit * MIB,
      onFault: (fault, requestId) => console.error(`chasqui: request ${requestId} failed:`, fault),
    },
  };
}

function announce({ host, port, engine }: Server): void {
  console.log(`Serving ${engine.model.id} at ${baseUrl(host, port)}/v1`);
  console.log(`Try it:\n\n  ${curlLine(baseUrl(host, port), engine.model.id, process.platform)}\n`);
}
