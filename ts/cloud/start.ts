/** Starts and stops a cloud: gateway, API, supervisor and accounts in one process with one database. */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { ChasquiError, invalidOptions } from '../errors.js';
import { checkHostHeader, endConnections } from '../http/connections.js';
import { errorHandler } from '../http/error-handler.js';
import type { HubSettings } from '../hub/hub-settings.js';
import { ProcessLock } from '../hub/process-lock.js';
import { availableMemory } from '../process/process-usage.js';
import type { Certificate } from '../server/certificate.js';
import { type Accounts, openAccounts } from './accounts/accounts.js';
import { type Authorize, authorizer } from './accounts/authorize.js';
import { accountsRoutes } from './accounts/routes.js';
import { API_BASE, apiRoutes, isUpload } from './api/routes.js';
import { ModelSenders, ModelUploads } from './api/uploads.js';
import { AppStore } from './apps/app-store.js';
import { AppControl } from './apps/control.js';
import { LiveApps } from './apps/dashboard-apps.js';
import { HubWeights } from './apps/hub-weights.js';
import { isAddressWanted, oldUploads, removeAbandonedParts, removeOldWeights } from './apps/old-weights.js';
import { readQuotas } from './apps/quotas.js';
import { Supervisor } from './apps/supervisor.js';
import { measure } from './apps/views.js';
import { WeightStore } from './apps/weights.js';
import { Budgets } from './budgets/budgets.js';
import { budgetRoutes } from './budgets/routes.js';
import type { ChatPage } from './dashboard/chat-page.js';
import { dashboardRoutes } from './dashboard/routes.js';
import { ClientReply } from './gateway/client-reply.js';
import { createFrontServer, refusePlainPublicListen } from './gateway/front-server.js';
import { Gateway } from './gateway/gateway.js';
import type { UsageSink } from './gateway/usage.js';
import { reportReady, startSuccessor } from './hand-over.js';
import { Mailer, type MailSettings } from './mail/mailer.js';
import { CloudMetrics, metricsRoute } from './metrics/cloud-metrics.js';
import { OidcProvider, type OidcSettings } from './oidc/provider.js';
import { makePlaces, OWN_ORG, type Places, placesIn, type WrittenAddress } from './places.js';
import { queueManagementRoutes } from './queue/management-routes.js';
import { Queue } from './queue/queue.js';
import { queueRoutes } from './queue/routes.js';
import { TicketRing } from './queue/ticket-ring.js';
import { removeOrphanedContainers } from './runners/container.js';
import { prioritizeControlPlane } from './runners/cpu-share.js';
import { findGpus } from './runners/gpus.js';
import { DEFAULT_IMAGE, Podman } from './runners/podman.js';
import type { RunnerCommand } from './runners/runner-process.js';
import { confirmChanges } from './store/confirm-changes.js';
import { type Database, openDatabase } from './store/database.js';
import { SecretStore } from './store/secrets.js';
import { KEY_NAME } from './webhooks/webhooks.js';

export interface CloudSettings {
  home: string;
  host: string;
  /** 0: any free port. */
  port: number;
  /** A listening socket that another process has passed, instead of `host` and `port`. */
  passedSocket?: number | null;
  /** Base URL for clients; default: from host and port. */
  publicUrl?: string | undefined;
  /** Memory for all runners; default: 80 % of the memory that is free at the start. */
  memoryBytes?: number | undefined;
  /** Quotas of organisations; default: unlimited. */
  quotas?: readonly string[] | undefined;
  /** Disk space for uploaded models; default: half of their disk. */
  uploadsLimitBytes?: number | undefined;
  /** Whether remote deployments may fetch models from private networks; default: false. */
  allowsPrivateModelHosts?: boolean;
  /** Whether webhooks may call this machine; default: false. */
  allowsLoopbackWebhooks?: boolean;
  command: RunnerCommand;
  /** Runs runners in podman containers of this image; null: the default image. */
  podman?: { image: string | null } | undefined;
  /** Folder for fetched models; default: in `home`. */
  modelsFolder?: string;
  /** Source and cache of `hf:` models. */
  hub: HubSettings;
  demoModel: string;
  /** The page of the dashboard that tries apps. */
  chatPage?: ChatPage;
  /** Sign-in to the dashboard with a provider. */
  oidc?: OidcSettings | undefined;
  /** Mail server for alerts. */
  mail?: MailSettings | undefined;
  /** Whether runners exit with this process, even if it is killed; default: false. */
  endsWithParent?: boolean;
  certificate?: Certificate | undefined;
  trustProxy?: boolean;
  insecure?: boolean;
  onEvent?: (line: string) => void;
  onError?: (error: unknown) => void;
}

export interface Cloud {
  /** Base URL for clients, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly org: string;
  readonly control: AppControl;
  readonly accounts: Accounts;
  readonly supervisor: Supervisor;
  readonly secrets: SecretStore;
  /**
   * Starts this program again with the same socket and runners, then finishes the open connections within `drainMs`.
   * Rejects if the new process does not start; then this one keeps serving. `onStarted` is called with its id.
   */
  handOver(drainMs: number, onStarted: (pid: number) => void): Promise<void>;
  /** Running requests get `drainMs` to finish. With `keepRunners` the runners keep running for the next start. */
  stop(options: { drainMs: number; keepRunners: boolean }): Promise<void>;
}

const DEFAULT_SHARE = 0.8;
/** Time for clients to read the end of their replies when the cloud stops. */
const UNREAD_GRACE_MS = 2000;

/** Time for a predecessor to release the data folder. */
const HAND_OVER_MS = 60_000;
const LOCK_POLL_MS = 10;

/** Rejects with a `ChasquiError`, or with Node's error if the port is in use. */
export async function startCloud(settings: CloudSettings): Promise<Cloud> {
  const { host, port, certificate, trustProxy = false, insecure = false } = settings;
  refusePlainPublicListen({ host, hasCertificate: certificate !== undefined, trustProxy, insecure });
  const podman = new Podman(settings.podman?.image ?? DEFAULT_IMAGE);
  if (settings.podman !== undefined) await reportIsolation(podman, settings);
  const places = placesIn(settings.home);
  makePlaces(places);
  const { passedSocket = null } = settings;
  const lock = await takeLock(places.lock, passedSocket !== null);
  const database = openDatabase(places.cloud);
  const parts = assemble(settings, places, { database, podman });
  const { accounts, supervisor, control, secrets, gateway, api, publicUrl } = parts;
  await api.ready();
  if (settings.podman !== undefined) await removeOrphanedContainers(podman, places.run, parts.runnerIds());
  if (process.platform === 'linux') await prioritizeControlPlane();
  let isHandedOver = false;
  const own = (request: IncomingMessage, response: ServerResponse): void => {
    if (isHandedOver) refuseMoved(response);
    else api.routing(request, response);
  };
  const front = createFrontServer({ gateway, own, certificate, mayTakeLong: isUpload });
  try {
    await listen(front, passedSocket === null ? { host, port } : { fd: passedSocket });
  } catch (error) {
    await parts.queue.close();
    parts.budgets.close();
    parts.metrics.close();
    accounts.close();
    database.close();
    lock.release();
    throw error;
  }
  const boundPort = (front.address() as net.AddressInfo).port;
  publicUrl.value = settings.publicUrl?.replace(/\/+$/, '') ?? localUrl(settings, boundPort);
  writeAddress(places, { url: localUrl(settings, boundPort), token: parts.localToken, org: OWN_ORG, pid: process.pid });
  // Nothing is awaited since `listen`, because the gateway refuses requests to apps that are not loaded.
  supervisor.start();
  const closeParts = (): void => {
    parts.metrics.close();
    accounts.close();
    database.close();
  };
  const stop: Cloud['stop'] = async ({ drainMs, keepRunners }) => {
    front.close();
    if (!isHandedOver) await parts.queue.close();
    parts.budgets.close();
    // Closing the API ends the dashboard's live streams.
    await Promise.all([api.close(), gateway.close(drainMs)]);
    await endConnections(front, UNREAD_GRACE_MS);
    // `handOver` closes the rest.
    if (isHandedOver) return;
    await supervisor.stop({ keepRunners, graceMs: drainMs });
    await Promise.all([parts.weights.close(), parts.hub.close()]);
    fs.rmSync(places.address, { force: true });
    closeParts();
    lock.release();
  };
  const handOver: Cloud['handOver'] = async (drainMs, onStarted) => {
    const pid = await startSuccessor(front, settings.command.environment);
    isHandedOver = true;
    front.prependListener('request', (_request, response) => response.setHeader('connection', 'close'));
    const closed = new Promise((resolve) => front.close(resolve));
    parts.budgets.close();
    await parts.queue.close();
    await supervisor.stop({ keepRunners: true, graceMs: 0 });
    lock.release();
    onStarted(pid);
    await Promise.all([api.close(), parts.weights.close(), parts.hub.close()]);
    await Promise.race([closed, sleep(drainMs, undefined, { ref: false })]);
    await gateway.close(0);
    await endConnections(front, UNREAD_GRACE_MS);
    closeParts();
  };
  const shared = { org: OWN_ORG, control, accounts, supervisor, secrets };
  return { url: publicUrl.value, port: boundPort, ...shared, handOver, stop };
}

function assemble(
  settings: CloudSettings,
  places: Places,
  { database, podman }: { database: Database; podman: Podman },
) {
  const { home, command, demoModel, endsWithParent = false, onEvent, onError } = settings;
  const keyStore = { waitsForDisk: false };
  const accounts = openAccounts({ database, home, keyStore, ...(onError && { onError }) });
  const store = new AppStore(database);
  const secrets = new SecretStore(database, places.cloud);
  const hub = new HubWeights(settings.hub, places.downloads);
  const quotas = readQuotas(settings.quotas ?? []);
  const models = settings.modelsFolder ?? places.models;
  const weights = new WeightStore(models, demoModel, hub, (url) => isAddressWanted(store, url));
  removeAbandonedParts({ models });
  const supervisor = new Supervisor({
    store,
    weights,
    freeDisk: () => removeOldWeights(store, { models, uploads: places.uploads }),
    secrets: (org, names) => secrets.read(org, names),
    modelHosts: settings.allowsPrivateModelHosts ? 'any' : 'public',
    command,
    gpus: findGpus(command.environment),
    podman,
    isolation: settings.podman === undefined ? 'process' : 'podman',
    runFolder: places.run,
    logFolder: places.logs,
    responsesFolder: places.responses,
    budgetBytes: settings.memoryBytes ?? DEFAULT_SHARE * (availableMemory() + bytesOfRunners(store)),
    quotas,
    endsWithParent,
    ...(onEvent && { onEvent }),
  });
  const uploads = new ModelUploads({
    folder: places.uploads,
    limitBytes: settings.uploadsLimitBytes ?? null,
    senders: new ModelSenders(database),
    quotaOf: (org) => quotas(org).uploads,
    removable: () => oldUploads(store, { models, uploads: places.uploads }),
  });
  // Set once the server listens.
  const publicUrl = { value: '' };
  const { audit, changes, ring, usage } = accounts;
  const control = new AppControl({
    ...{ supervisor, store, audit, uploads, secrets },
    logFolder: places.logs,
    publicUrl: () => publicUrl.value,
  });
  const metrics = new CloudMetrics(() => ({ ...measure(supervisor), queues: queue.store.waiting() }));
  const webhooks = {
    keyOf: (org: string) => secrets.read(org, [KEY_NAME])[KEY_NAME] as string,
    hosts: settings.allowsLoopbackWebhooks ? ('loopback' as const) : ('public' as const),
    onError: (error: unknown) => onError?.(error),
  };
  const budgets = new Budgets({
    database,
    mailer: settings.mail && new Mailer(settings.mail, webhooks.onError),
    ...webhooks,
  });
  const sink: UsageSink = {
    add: (use, replaces) => {
      usage.add(use, replaces);
      budgets.count(use);
      metrics.add(use);
    },
    progress: (use, replaces) => usage.progress(use, replaces),
  };
  const tickets = new TicketRing(ring);
  const gateway = new Gateway(
    { directory: supervisor, keys: tickets, usage: sink, budgets },
    { ...(onError && { onError: (error: unknown) => onError(error) }) },
  );
  const queue = new Queue({
    database,
    gateway,
    directory: supervisor,
    tickets,
    ...webhooks,
  });
  const localToken = randomBytes(32).toString('base64url');
  const authorize = authorizer({ ring, localToken });
  const api = buildApi(settings, [database, accounts.keys]);
  metricsRoute(api, { metrics, authorize });
  setupLinkRoute(api, { accounts, authorize, publicUrl: () => publicUrl.value });
  apiRoutes(api, {
    ...{ control, secrets, uploads, audit, changes, authorize },
    ownOrg: OWN_ORG,
    publicUrl: () => publicUrl.value,
  });
  queueRoutes(api, { queue, directory: supervisor, keys: ring, publicUrl: () => publicUrl.value });
  queueManagementRoutes(api, { queue, directory: supervisor, audit, authorize });
  budgetRoutes(api, { budgets, accounts, authorize });
  accountsRoutes(api, { accounts, authorize, publicUrl: () => publicUrl.value });
  dashboardRoutes(api, {
    accounts,
    budgets,
    chatPage: settings.chatPage,
    oidc: settings.oidc && new OidcProvider(settings.oidc, (error) => onError?.(error)),
    apps: new LiveApps({
      supervisor,
      store,
      control,
      logFolder: places.logs,
      runningAt: (app, runner) => gateway.runningAt(app, runner),
    }),
    publicUrl: () => publicUrl.value,
    onServerError: (error) => onError?.(error),
  });
  const runnerIds = () => new Set(store.apps().flatMap(({ id }) => store.runners(id).map((runner) => runner.id)));
  const shared = { accounts, supervisor, control, secrets };
  return { ...shared, gateway, queue, budgets, api, publicUrl, localToken, weights, hub, metrics, runnerIds };
}

/** @throws {ChasquiError} `invalid_options`: podman does not work here */
async function reportIsolation(podman: Podman, { onEvent }: CloudSettings): Promise<void> {
  const { rootless } = await podman.check();
  const mode = rootless ? 'rootless' : 'not rootless, because this account is root';
  onEvent?.(`runners use podman containers (${mode})`);
}

/** A link to reset a forgotten password. Requires the local token or an `admin` key. */
function setupLinkRoute(
  api: FastifyInstance,
  { accounts, authorize, publicUrl }: { accounts: Accounts; authorize: Authorize; publicUrl: () => string },
): void {
  api.post(`${API_BASE}/setup-link`, async (request) => {
    authorize(request, {});
    return { url: `${publicUrl()}${accounts.setupPath()}` };
  });
}

function buildApi(
  { onError, trustProxy = false }: CloudSettings,
  stores: Parameters<typeof confirmChanges>[1],
): FastifyInstance {
  const onRequestError = errorHandler({ onServerError: (error) => onError?.(error), optionNames: {} });
  // Trust the headers of one proxy in front, but not what clients sent to that proxy.
  const api = Fastify({
    forceCloseConnections: true,
    trustProxy: (_address, hop) => trustProxy && hop === 0,
    frameworkErrors: onRequestError,
  });
  api.addHook('onRequest', async ({ raw }) => checkHostHeader(raw));
  confirmChanges(api, stores);
  api.setErrorHandler(onRequestError);
  api.setNotFoundHandler((request) => {
    throw new ChasquiError('unknown_url', `Unknown URL: ${request.method} ${request.url.slice(0, 200)}.`);
  });
  api.get('/health', async () => ({ status: 'ok' }));
  return api;
}

/** With a passed socket, another process may hold the data folder a little longer. */
async function takeLock(file: string, isPassed: boolean): Promise<ProcessLock> {
  const lock = ProcessLock.tryTake(file);
  if (lock !== null) return lock;
  const refused = invalidOptions('A cloud already runs in this data folder. Stop it first.');
  if (!isPassed) throw refused;
  reportReady();
  return ProcessLock.take(file, AbortSignal.timeout(HAND_OVER_MS), () => {}, LOCK_POLL_MS).catch(() => {
    throw refused;
  });
}

/** Keep-alive connections to a process that has handed over: the client's next connection reaches the new process. */
function refuseMoved(response: ServerResponse): void {
  const error = new ChasquiError('engine_closed', 'The cloud is restarting. Repeat the request.');
  new ClientReply(response, { stallMs: UNREAD_GRACE_MS, path: '' }).fail(error);
}

function listen(server: Server, place: net.ListenOptions | { fd: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(place, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Readable by this account only: commands on this machine use it. */
function writeAddress({ address }: Places, contents: WrittenAddress): void {
  const part = `${address}.part`;
  fs.writeFileSync(part, `${JSON.stringify(contents)}\n`, { mode: 0o600 });
  fs.renameSync(part, address);
}

function localUrl({ host, certificate }: CloudSettings, port: number): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const name = reachable.includes(':') ? `[${reachable}]` : reachable;
  return `${certificate === undefined ? 'http' : 'https'}://${name}:${port}`;
}

/** Memory of runners that an earlier control plane left running. */
function bytesOfRunners(store: AppStore): number {
  const runners = store.apps().flatMap(({ id }) => store.runners(id));
  return runners.reduce((sum, { bytes }) => sum + bytes, 0);
}
