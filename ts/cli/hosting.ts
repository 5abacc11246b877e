/** The options that say how a server is hosted: its mode, its address, who may use it. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { RestartEvent } from '../engine/child/supervised-engine.js';
import { ChasquiError } from '../errors.js';
import { MAX_TEXT_BYTES } from '../http/body/limits.js';
import { desktop } from '../profiles/desktop.js';
import type { Profile } from '../profiles/profile.js';
import { runtime } from '../profiles/runtime.js';
import { serverless } from '../profiles/serverless.js';
import type { DeploymentSettings, StartSettings } from '../server/start.js';
import { dataDir, dataDirOption } from './data-dir.js';
import { parseCount, parseCountOrZero, parsePort } from './numbers.js';

const PROFILES = { runtime, desktop, serverless };
const MIB = 2 ** 20;

export interface HostingOptions {
  mode: keyof typeof PROFILES;
  host?: string;
  port?: number;
  org?: string;
  app?: string;
  auth?: 'private' | 'public';
  dataDir?: string;
  corsOrigin?: string[];
  allowedHost?: string[];
  bodyLimit?: number;
  stallTimeout: number;
  maxPriority?: number;
  strict?: boolean;
  engine: 'child' | 'in-process';
  stepTimeout: number;
  allowPrivateImageHosts?: boolean;
}

export function addHostingOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--mode <mode>', 'which conventions to follow').choices(Object.keys(PROFILES)).default('runtime'),
    )
    .option('--host <address>', `address to listen at; 0.0.0.0 for all of this machine (default: ${runtime.host})`)
    .option(
      '-p, --port <n>',
      `port to listen at; 0 for any free one (default: ${runtime.port}, or ${desktop.port} in desktop mode)`,
      parsePort,
    )
    .option('--org <org_id>', 'serverless mode: the organisation that the app belongs to')
    .option('--app <app_id>', 'serverless mode: the app; its address ends in /<org_id>/<app_id>')
    .addOption(
      new Option(
        '--auth <who>',
        'serverless mode: whether an API key is needed, see chasqui keys (default: private)',
      ).choices(['private', 'public']),
    )
    .addOption(dataDirOption())
    .option(
      '--cors-origin <origin>',
      'origin whose pages may use the server, such as https://chat.example; local, * or none; may be given several ' +
        'times (default: local, or none in serverless mode)',
      collectOrigin,
    )
    .option(
      '--allowed-host <name>',
      'name that the server goes by beside localhost and addresses; * for any; may be given several times ' +
        '(default: what --host says)',
      (name: string, names: string[] = []) => [...names, name],
    )
    .option('--strict', 'refuse request fields that are not known (default: ignore them, and say so in a header)')
    .option(
      '--allow-private-image-hosts',
      'fetch images from any address, those of private networks included (default: from public ones, and in the ' +
        'local modes from this machine, unless --host opens the server to others)',
    )
    .option(
      '--body-limit <MiB>',
      `largest request body, images included; without them ${MAX_TEXT_BYTES / MIB} at most (default: ${limits()})`,
      parseCount,
    )
    .option(
      '--max-priority <n>',
      'how high requests may put their `priority`: who is ahead takes the places of others (default: 0)',
      parseCountOrZero,
    )
    .addOption(
      new Option(
        '--engine <home>',
        'where to compute: in a child process, which is started again when it ends, or in the process that serves',
      )
        .choices(['child', 'in-process'])
        .default('child'),
    )
    .option(
      '--step-timeout <s>',
      'how long a step of the engine may take before its process is ended and started again; 0 for ever',
      parseCountOrZero,
      60,
    )
    .option(
      '--stall-timeout <s>',
      'how long a client may leave its stream unread before it is cut off; 0 for ever',
      parseCountOrZero,
      600,
    );
}

export function profileOf({ mode, maxPriority }: HostingOptions): Profile {
  const profile = PROFILES[mode];
  return maxPriority === undefined ? profile : { ...profile, maxPriority };
}

export function hostingSettings(options: HostingOptions): Omit<StartSettings, 'modelPath' | 'model'> {
  const { host, port, bodyLimit, corsOrigin, allowedHost } = options;
  return {
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
    ...toDeployment(options),
    engine: {
      inProcess: options.engine === 'in-process',
      stepTimeoutMs: options.stepTimeout * 1000,
      onRestart: tellRestart,
    },
    app: {
      strict: options.strict ?? false,
      stallTimeoutMs: options.stallTimeout * 1000,
      ...(options.allowPrivateImageHosts && { imageHosts: 'any' }),
      ...(bodyLimit !== undefined && { bodyLimit: bodyLimit * MIB }),
      ...(corsOrigin && { corsOrigins: corsOrigin.filter((origin) => origin !== 'none') }),
      ...(allowedHost && { allowedHosts: allowedHost }),
    },
  };
}

function tellRestart({ end, afterMs }: RestartEvent): void {
  const next = afterMs === null ? 'it is not started again' : 'it is started again';
  const when = afterMs ? ` in ${(afterMs / 1000).toFixed(1)} s` : '';
  console.error(`chasqui: the engine ended: ${end.message}; ${next}${when}`);
}

function toDeployment(options: HostingOptions): { deployment?: DeploymentSettings } {
  const { org, app, auth, mode } = options;
  if (mode === 'serverless') {
    if (!org || !app) {
      throw new ChasquiError('invalid_options', '--mode serverless needs --org <org_id> and --app <app_id>');
    }
    return { deployment: { org, app, auth: auth ?? 'private', dataDir: dataDir(options.dataDir) } };
  }
  if (org !== undefined || app !== undefined || auth !== undefined) {
    throw new ChasquiError(
      'invalid_options',
      `--org, --app and --auth are for --mode serverless, not for ${mode} mode`,
    );
  }
  return {};
}

function collectOrigin(text: string, origins: string[] = []): string[] {
  const isOrigin = URL.canParse(text) && /^[a-z][a-z0-9+.-]*:\/\/[^/?#@]+$/.test(text);
  if (!isOrigin && !['*', 'local', 'none', 'null'].includes(text)) {
    throw new InvalidArgumentError('An origin is scheme://host or scheme://host:port, in lower case, without a path.');
  }
  return [...origins, text];
}

function limits(): string {
  return `${runtime.bodyLimit / MIB}, or ${serverless.bodyLimit / MIB} in serverless mode`;
}
