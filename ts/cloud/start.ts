/** Brings a cloud up and down: gateway, API, supervisor and accounts in one process, over one database. */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type net from 'node:net';
import os from 'node:os';
import Fastify, { type FastifyInstance } from 'fastify';
import { ChasquiError } from '../errors.js';
import { checkHostHeader } from '../http/connections.js';
import { errorHandler } from '../http/error-handler.js';
import { endConnections } from '../http/idle-connections.js';
import type { HubSettings } from '../hub/hub-settings.js';
import type { Certificate } from '../server/certificate.js';
import { type Accounts, openAccounts } from './accounts/accounts.js';
import { type Authorize, authorizer } from './accounts/authorize.js';
import { accountsRoutes } from './accounts/routes.js';
import { API_BASE, apiRoutes, isUpload } from './api/routes.js';
import { ModelUploads } from './api/uploads.js';
import { AppStore } from './apps/app-store.js';
import { LiveApps } from './apps/apps-view.js';
import { AppControl } from './apps/control.js';
import { HubWeights } from './apps/hub-weights.js';
import { measure } from './apps/measure.js';
import { isAddressWanted, oldUploads, removeLeftParts, removeOldWeights } from './apps/old-weights.js';
import { Supervisor } from './apps/supervisor.js';
import { WeightStore } from './apps/weights.js';
import { dashboardRoutes } from './dashboard/routes.js';
import { createFrontServer } from './gateway/front-server.js';
import { Gateway } from './gateway/gateway.js';
import { refusePlainPublicListen } from './gateway/public-listen.js';
import type { UsageSink } from './gateway/usage.js';
import { CloudMetrics } from './metrics/cloud-metrics.js';
import { metricsRoute } from './metrics/route.js';
import { claim } from './one-at-a-time.js';
import { OWN_ORG } from './own-org.js';
import { type LocalAddress, makePlaces, type Places, placesIn } from './places.js';
import { removeLeftContainers } from './runners/container.js';
import { DEFAULT_IMAGE, Podman } from './runners/podman.js';
import type { RunnerCommand } from './runners/runner-process.js';
import { type Database, openDatabase } from './store/database.js';
import { ModelSenders } from './store/model-senders.js';
import { SecretStore } from './store/secrets.js';

export interface CloudSettings {
  /** The folder of everything that chasqui keeps. */
  home: string;
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** How clients reach it; default: host and port. */
  publicUrl?: string | undefined;
  /** What all runners may take; default: 80 % of what is free now. */
  memoryBytes?: number | undefined;
  /** What models that are sent may take together; default: half of the disk that they are on. */
  uploadsLimitBytes?: number | undefined;
  /** Whether models that are deployed from elsewhere may come from private networks; default false. */
  allowsPrivateModelHosts?: boolean;
  command: RunnerCommand;
  /** Puts runners into containers of podman, made of this image, or of its default where it is null. */
  podman?: { image: string | null } | undefined;
  /** Where fetched models are kept; default: in `home`. */
  modelsFolder?: string;
  /** Where `hf:` models come from, and where they are kept. */
  hub: HubSettings;
  /** The model in the package. */
  demoModel: string;
  /** Whether runners end with this process, even when it is killed; default false. */
  endsWithParent?: boolean;
  certificate?: Certificate | undefined;
  trustProxy?: boolean;
  insecure?: boolean;
  /** Told what happens, in lines for people. */
  onEvent?: (line: string) => void;
  onError?: (error: unknown) => void;
}

export interface Cloud {
  /** How clients reach it, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** The organisation that is there from the first start. */
  readonly org: string;
  readonly control: AppControl;
  readonly accounts: Accounts;
  readonly supervisor: Supervisor;
  /**
   * Requests that run go on for `drainMs` at most. With `keepRunners` the runners go on, for the next start to find.
   */
  stop(options: { drainMs: number; keepRunners: boolean }): Promise<void>;
}

const DEFAULT_SHARE = 0.8;
/** How long clients get to read the ends of their replies when the cloud stops. */
const UNREAD_GRACE_MS = 2000;

/** Rejects with a `ChasquiError`, or with Node's own error when the port is not free. */
export async function startCloud(settings: CloudSettings): Promise<Cloud> {
  const { host, port, certificate, trustProxy = false, insecure = false } = settings;
  refusePlainPublicListen({ host, hasCertificate: certificate !== undefined, trustProxy, insecure });
  const podman = new Podman(settings.podman?.image ?? DEFAULT_IMAGE);
  if (settings.podman !== undefined) await sayIsolation(podman, settings);
  const places = placesIn(settings.home);
  makePlaces(places);
  const held = await claim(places.lock, (server, path) => server.listen(path));
  const database = openDatabase(places.cloud);
  const parts = assemble(settings, places, { database, podman });
  const { accounts, supervisor, control, gateway, api, publicUrl } = parts;
  await api.ready();
  if (settings.podman !== undefined) await removeLeftContainers(podman, places.run, parts.runnerIds());
  const own = (request: IncomingMessage, response: ServerResponse): void => api.routing(request, response);
  const front = createFrontServer({ gateway, own, certificate, mayTakeLong: isUpload });
  try {
    await listen(front, host, port);
  } catch (error) {
    parts.metrics.close();
    accounts.close();
    database.close();
    held.release();
    throw error;
  }
  const boundPort = (front.address() as net.AddressInfo).port;
  publicUrl.value = settings.publicUrl?.replace(/\/+$/, '') ?? localUrl(settings, boundPort);
  writeAddress(places, { url: localUrl(settings, boundPort), token: parts.localToken, org: OWN_ORG });
  supervisor.start();
  const stop: Cloud['stop'] = async ({ drainMs, keepRunners }) => {
    front.close();
    // The API ends the dashboard's live streams, which would go on for ever.
    await Promise.all([api.close(), gateway.close(drainMs)]);
    await endConnections(front, UNREAD_GRACE_MS);
    await supervisor.stop({ keepRunners, graceMs: drainMs });
    await Promise.all([parts.weights.close(), parts.hub.close()]);
    parts.metrics.close();
    accounts.close();
    fs.rmSync(places.address, { force: true });
    database.close();
    held.release();
  };
  return { url: publicUrl.value, port: boundPort, org: OWN_ORG, control, accounts, supervisor, stop };
}

function assemble(
  settings: CloudSettings,
  places: Places,
  { database, podman }: { database: Database; podman: Podman },
) {
  const { home, command, demoModel, endsWithParent = false, onEvent, onError } = settings;
  const accounts = openAccounts({ database, home, ...(onError && { onError }) });
  const store = new AppStore(database);
  const secrets = new SecretStore(database, places.cloud);
  const hub = new HubWeights(settings.hub, places.downloads);
  const models = settings.modelsFolder ?? places.models;
  const weights = new WeightStore(models, demoModel, hub, (url) => isAddressWanted(store, url));
  removeLeftParts({ models });
  const supervisor = new Supervisor({
    store,
    weights,
    makeRoom: () => removeOldWeights(store, { models, uploads: places.uploads }),
    secrets: (org, names) => secrets.read(org, names),
    modelHosts: settings.allowsPrivateModelHosts ? 'any' : 'public',
    ...{ command, podman, isolation: settings.podman === undefined ? 'process' : 'podman' },
    runFolder: places.run,
    logFolder: places.logs,
    responsesFolder: places.responses,
    budgetBytes: settings.memoryBytes ?? DEFAULT_SHARE * (freeBytes() + bytesOfRunners(store)),
    endsWithParent,
    ...(onEvent && { onEvent }),
  });
  const uploads = new ModelUploads({
    folder: places.uploads,
    limitBytes: settings.uploadsLimitBytes ?? null,
    senders: new ModelSenders(database),
    removable: () => oldUploads(store, { models, uploads: places.uploads }),
  });
  // It is known when the server listens.
  const publicUrl = { value: '' };
  const { audit, ring, usage } = accounts;
  const control = new AppControl({
    supervisor,
    store,
    audit,
    logFolder: places.logs,
    uploads,
    publicUrl: () => publicUrl.value,
  });
  const metrics = new CloudMetrics(() => measure(supervisor));
  const sink: UsageSink = {
    add: (use) => {
      usage.add(use);
      metrics.add(use);
    },
  };
  const gateway = new Gateway(
    { directory: supervisor, keys: ring, usage: sink },
    { ...(onError && { onError: (error: unknown) => onError(error) }) },
  );
  const localToken = randomBytes(32).toString('base64url');
  const authorize = authorizer({ ring, localToken });
  const api = buildApi(settings);
  metricsRoute(api, { metrics, authorize });
  setupLinkRoute(api, { accounts, authorize, publicUrl: () => publicUrl.value });
  apiRoutes(api, { control, secrets, uploads, audit, authorize, ownOrg: OWN_ORG, publicUrl: () => publicUrl.value });
  accountsRoutes(api, { accounts, authorize, publicUrl: () => publicUrl.value });
  dashboardRoutes(api, {
    accounts,
    apps: new LiveApps({
      ...{ supervisor, store, control, logFolder: places.logs },
      runningAt: (app, runner) => gateway.runningAt(app, runner),
    }),
    publicUrl: () => publicUrl.value,
    onServerError: (error) => onError?.(error),
  });
  const runnerIds = () => new Set(store.apps().flatMap(({ id }) => store.runners(id).map((runner) => runner.id)));
  return { accounts, supervisor, control, gateway, api, publicUrl, localToken, weights, hub, metrics, runnerIds };
}

/** @throws {ChasquiError} `invalid_options`: containers cannot be run here */
async function sayIsolation(podman: Podman, { onEvent }: CloudSettings): Promise<void> {
  const { rootless } = await podman.check();
  const whose = rootless ? 'rootless' : 'not rootless, because this account is root';
  onEvent?.(`runners are in containers of podman (${whose})`);
}

/** A link for who forgot the password: only those ask who can read this machine's files, or manage everything. */
function setupLinkRoute(
  api: FastifyInstance,
  { accounts, authorize, publicUrl }: { accounts: Accounts; authorize: Authorize; publicUrl: () => string },
): void {
  api.post(`${API_BASE}/setup-link`, async (request) => {
    authorize(request, 'admin', {});
    return { url: `${publicUrl()}${accounts.setupPath()}` };
  });
}

function buildApi({ onError, trustProxy = false }: CloudSettings): FastifyInstance {
  // What the one proxy in front says of a request is believed, and nothing that a client told the proxy.
  const api = Fastify({ forceCloseConnections: true, trustProxy: (_address, hop) => trustProxy && hop === 0 });
  api.addHook('onRequest', async ({ raw }) => checkHostHeader(raw));
  api.setErrorHandler(errorHandler({ onServerError: (error) => onError?.(error), optionNames: {} }));
  api.setNotFoundHandler((request) => {
    throw new ChasquiError('unknown_url', `There is nothing at ${request.method} ${request.url.slice(0, 200)}.`);
  });
  api.get('/health', async () => ({ status: 'ok' }));
  return api;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Commands on this machine read it; a command of another account cannot. */
function writeAddress({ address }: Places, contents: LocalAddress): void {
  const part = `${address}.part`;
  fs.writeFileSync(part, `${JSON.stringify(contents)}\n`, { mode: 0o600 });
  fs.renameSync(part, address);
}

function localUrl({ host, certificate }: CloudSettings, port: number): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const name = reachable.includes(':') ? `[${reachable}]` : reachable;
  return `${certificate === undefined ? 'http' : 'https'}://${name}:${port}`;
}

/** Runners that are found again have their memory already. */
function bytesOfRunners(store: AppStore): number {
  const runners = store.apps().flatMap(({ id }) => store.runners(id));
  return runners.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** In a container, what it may still take. */
function freeBytes(): number {
  const { availableMemory } = process as { availableMemory?: () => number };
  return availableMemory?.() ?? os.freemem();
}
