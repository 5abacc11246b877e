/** Runs `chasqui cloud start` until a signal stops it. */
import { takePassedSocket } from '../../cloud/hand-over.js';
import type { Cloud } from '../../cloud/start.js';
import { invalidOptions } from '../../errors.js';
import { dataDir } from '../../hub/data-folder.js';
import { hubSettings } from '../../hub/hub-settings.js';
import { ownCall } from '../../own-call.js';
import { Certificate } from '../../server/certificate.js';
import { stopOnSignals } from '../../server/stop-on-signals.js';
import { givenOptions } from '../options/table-options.js';
import { printable } from '../output/log-output.js';
import { mailSettings } from './mail-settings.js';
import { oidcSettings } from './oidc-settings.js';
import { CLOUD_START_OPTIONS } from './option-table.js';
import { DEMO_MODEL, podmanOf, runnerCommand } from './runner-command.js';
import { startOrExplain } from './start-or-explain.js';

const DEFAULT_PORT = 8088;
const MIB = 2 ** 20;
/** Time for runners to unload their models after the last request. */
const AFTER_DRAINING_MS = 40_000;

export async function startFromOptions(parsed: Readonly<Record<string, unknown>>): Promise<void> {
  const options = givenOptions(CLOUD_START_OPTIONS, parsed);
  const { runnersMemory, uploadsLimit } = options;
  const { host = '127.0.0.1', port = DEFAULT_PORT, tlsCert, tlsKey, keepRunners = false } = options;
  const { shutdownTimeout = CLOUD_START_OPTIONS.shutdownTimeout.default } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw invalidOptions('`tlsCert` and `tlsKey` are given together.');
  }
  if (options.publicUrl !== undefined && !/^https?:\/\/[^/]/.test(options.publicUrl)) {
    throw invalidOptions('`publicUrl` must be an address such as https://cloud.example.');
  }
  const cloud = await startOrExplain({
    home: dataDir(options.dataDir),
    host,
    port,
    passedSocket: takePassedSocket(process.env),
    publicUrl: options.publicUrl,
    memoryBytes: runnersMemory === undefined ? undefined : runnersMemory * MIB,
    quotas: options.orgQuota,
    uploadsLimitBytes: uploadsLimit === undefined ? undefined : uploadsLimit * MIB,
    allowsPrivateModelHosts: options.allowPrivateModelHosts ?? false,
    allowsLoopbackWebhooks: options.allowLoopbackWebhooks ?? false,
    command: runnerCommand(),
    podman: podmanOf(options),
    demoModel: DEMO_MODEL,
    // Organisations use their own secret `HF_TOKEN`.
    hub: { ...hubSettings(process.env), token: null },
    oidc: oidcSettings(options, process.env),
    mail: mailSettings(options, process.env),
    certificate: tlsCert && tlsKey ? new Certificate(tlsCert, tlsKey) : undefined,
    trustProxy: options.trustProxy ?? false,
    insecure: options.insecure ?? false,
    onEvent: (line) => console.error(`${new Date().toISOString()} ${printable(line)}`),
    onError: (error) => console.error('chasqui:', error),
  });
  const drainMs = shutdownTimeout * 1000;
  stopOnSignals(
    () => cloud.stop({ drainMs, keepRunners }),
    () => console.error('chasqui: stopping; running requests may take a few seconds to finish'),
    { hardStopMs: 2 * drainMs + AFTER_DRAINING_MS },
  );
  if (process.platform !== 'win32') handOverOnSignal(cloud, drainMs);
  announce(cloud);
}

/** SIGUSR2 replaces this process by a new one, for example of another version. */
function handOverOnSignal(cloud: Cloud, drainMs: number): void {
  process.once('SIGUSR2', () => {
    const onStarted = (pid: number) =>
      console.error(`chasqui: process ${pid} takes over; open connections are finished`);
    cloud.handOver(drainMs, onStarted).then(
      () => process.exit(),
      (error: Error) => {
        console.error('chasqui:', error.message);
        handOverOnSignal(cloud, drainMs);
      },
    );
  });
}

function announce({ url, org, accounts }: Cloud): void {
  console.log(`The cloud is at ${url}; its own organisation is ${org}.`);
  if (accounts.needsSetup()) {
    console.log(`Set a password for its pages, within half an hour:\n\n  ${url}${accounts.setupPath()}\n`);
  }
  console.log(`Deploy an app:\n\n  ${ownCall()} deploy app.ts::chat --app-name chat --auth private\n`);
}
