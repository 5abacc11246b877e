/** Runs `chasqui run`: an app of a script for the lifetime of the command. */
import fs from 'node:fs';
import path from 'node:path';
import type { LogCursor } from '../../cloud/apps/control.js';
import { checkLocalFiles } from '../../cloud/apps/runner-memory.js';
import { readScript } from '../../cloud/script/read-script.js';
import type { Cloud } from '../../cloud/start.js';
import { modelIdOf } from '../../engine/load-options.js';
import { ChasquiError } from '../../errors.js';
import { dataDir } from '../../hub/data-folder.js';
import { hubSettings } from '../../hub/hub-settings.js';
import { stopOnSignals } from '../../server/stop-on-signals.js';
import { CommandFailed, EXIT } from '../errors/exit-codes.js';
import { givenOptions } from '../options/table-options.js';
import { curlLine } from '../output/curl-line.js';
import { printable } from '../output/log-output.js';
import { withAuth } from './deploy-app.js';
import { marksOf } from './file-marks.js';
import { RUN_OPTIONS } from './option-table.js';
import { printJson } from './outcome.js';
import { makeRunFolder } from './run-folder.js';
import { DEMO_MODEL, podmanOf, runnerCommand } from './runner-command.js';
import { startOrExplain } from './start-or-explain.js';
import { showSteps } from './until-active.js';

const HOST = '127.0.0.1';
const LOOK_MS = 200;
/** Short, because the user is waiting after Ctrl-C. */
const DRAIN_MS = 3000;
const HARD_STOP_MS = 25_000;
const LOCAL = { kind: 'local', name: 'chasqui run', org: null, app: null, address: null } as const;

export async function runApp(entry: string, parsed: Readonly<Record<string, unknown>>): Promise<void> {
  const given = givenOptions(RUN_OPTIONS, parsed, { CHASQUI_HOME: process.env.CHASQUI_HOME });
  const app = await readScript(entry);
  const name = given.appName ?? app.name;
  checkLocalFiles(app.manifest, name);
  // The marks detect files that are replaced while the app runs.
  const files = await marksOf(app.options);
  const options = withAuth(app.options, given.auth);
  const isPrivate = options.auth !== 'public';
  const hub = hubSettings(process.env);
  const secrets = secretsOf(app.manifest.secrets, { ...process.env, HF_TOKEN: hub.token ?? undefined });
  const home = makeRunFolder();
  const cloud = await startOrExplain({
    home,
    host: HOST,
    port: given.port ?? 0,
    modelsFolder: path.join(dataDir(given.dataDir), 'models'),
    command: runnerCommand(),
    podman: podmanOf(given),
    demoModel: DEMO_MODEL,
    hub,
    endsWithParent: true,
    onError: (error) => console.error('chasqui:', error),
  }).catch((error: unknown) => {
    fs.rmSync(home, { recursive: true, force: true });
    throw error;
  });
  const stop = async (): Promise<void> => {
    await cloud.stop({ drainMs: DRAIN_MS, keepRunners: false });
    fs.rmSync(home, { recursive: true, force: true });
  };
  stopOnSignals(stop, () => {}, { hardStopMs: HARD_STOP_MS });
  try {
    const { key } = cloud.accounts.keys.create({ name: 'chasqui run', org: cloud.org, app: name });
    for (const [secret, value] of secrets) cloud.secrets.set(cloud.org, secret, value);
    cloud.control.deploy(cloud.org, name, { options, files, message: null, strategy: 'rolling' }, LOCAL);
    cloud.control.scale(
      cloud.org,
      name,
      { min: Math.max(1, app.manifest.scale.min), max: app.manifest.scale.max },
      LOCAL,
    );
    announce(
      cloud,
      name,
      { key: isPrivate ? key : null, model: modelIdOf('', app.manifest.options) },
      given.json ?? false,
    );
    await follow(cloud, name, given.json ?? false);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The secrets of the app are variables of the same name. */
function secretsOf(names: readonly string[], environment: NodeJS.ProcessEnv): [string, string][] {
  const missing = names.filter((name) => !environment[name]);
  if (missing.length > 0) {
    const message = `Set the environment variables ${missing.join(', ')}: \`secrets\` of the script names them.`;
    throw new ChasquiError('script_invalid', message, 'secrets');
  }
  return names.map((name) => [name, environment[name] as string]);
}

function announce(
  cloud: Cloud,
  name: string,
  { key, model }: { key: string | null; model: string },
  json: boolean,
): void {
  const url = `${cloud.url}/${cloud.org}/${name}`;
  if (json) {
    printJson({ app: name, org: cloud.org, url, key, model });
    return;
  }
  const curl = curlLine(url, model, process.platform, { scheme: key === null ? null : 'Key' });
  console.log(`${name}, until Ctrl-C:\n\n  address  ${url}`);
  console.log(key === null ? '  public   no key is needed' : `  key      ${key}`);
  console.log(`\n  ${key === null ? curl : curl.replace('<API_KEY>', key)}\n`);
}

/** Shows startup progress, then the output of the runners. Never resolves; rejects if the app fails. */
async function follow({ control, org }: Cloud, name: string, json: boolean): Promise<never> {
  const steps = showSteps(process.stderr, json);
  let cursor: LogCursor | null = null;
  let wasReady = false;
  for (;;) {
    const { state, reason, progress, ready } = control.status(org, name);
    if (state === 'failed') {
      steps.clear();
      throw new CommandFailed(EXIT.notReady, reason ?? 'the app failed');
    }
    if (ready === 0) steps.show(progress ?? state);
    else steps.clear();
    if (ready > 0 && !wasReady && !json) console.log('Ready.');
    wasReady = ready > 0;
    const read = control.logs(org, name, cursor ?? {});
    cursor = read.cursor;
    for (const { text } of read.lines) console.error(printable(text));
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
