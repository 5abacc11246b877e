/** Converts the hosting options to a profile and server settings. */

import { webPage } from '../../desktop/web-page.js';
import type { RestartEvent } from '../../engine/child/restart-event.js';
import { invalidOptions } from '../../errors.js';
import { dataDir } from '../../hub/data-folder.js';
import { SharedKeys } from '../../keys/shared-keys.js';
import { ownCall } from '../../own-call.js';
import { desktop } from '../../profiles/desktop.js';
import type { Profile } from '../../profiles/profile.js';
import { runtime } from '../../profiles/runtime.js';
import { serverless } from '../../profiles/serverless.js';
import { Certificate } from '../../server/certificate.js';
import type { ModelsSettings } from '../../server/open-pool.js';
import type { DeploymentSettings, StartSettings } from '../../server/start.js';
import { explainFailure } from '../errors/explain-failure.js';
import { HOSTING_OPTIONS, type HostingOptions } from '../options/hosting-option-table.js';
import { withFlags } from '../options/option-names.js';
import { toList } from '../options/table-options.js';
import { serverSettings } from './server-settings.js';

const PROFILES = { runtime, desktop, serverless };
const MIB = 2 ** 20;

export function profileOf(options: HostingOptions): Profile {
  const { mode = HOSTING_OPTIONS.mode.default, maxPriority, nPredict } = options;
  const profile: Profile = asksForKeys(options) ? { ...PROFILES[mode], authentication: 'bearer' } : PROFILES[mode];
  return {
    ...profile,
    ...(maxPriority !== undefined && { maxPriority }),
    ...(nPredict !== undefined && { maxTokens: nPredict }),
  };
}

function asksForKeys({ apiKey, apiKeyFile, mode }: HostingOptions): boolean {
  const asks = apiKey !== undefined || apiKeyFile !== undefined;
  if (asks && mode === 'serverless') {
    throw invalidOptions(
      `\`apiKey\` and \`apiKeyFile\` are for the local modes; the keys of an app are made by ${ownCall()} keys`,
    );
  }
  return asks;
}

/** The Unix socket to listen on. As in llama-server, a host that ends in .sock is a socket. */
export function socketOf({ socket, host }: HostingOptions): string | undefined {
  if (socket !== undefined || host === undefined) return socket;
  if (host.startsWith('unix:')) return host.slice('unix:'.length);
  return host.endsWith('.sock') ? host : undefined;
}

function toHosts(host: string): readonly string[] {
  const hosts = host.split(',').map((each) => each.trim());
  if (hosts.every((each) => each !== '')) return hosts;
  throw invalidOptions('`host` must be addresses separated by commas, such as 127.0.0.1,::1.');
}

export function hostingSettings(options: HostingOptions): Omit<StartSettings, 'models' | 'model'> {
  const socketPath = socketOf(options);
  const { host, port, bodyLimit, corsOrigins, allowedHosts, allowPrivateImageHosts } = options;
  const { strict = HOSTING_OPTIONS.strict.default, stallTimeout = HOSTING_OPTIONS.stallTimeout.default } = options;
  const { mode, webui = HOSTING_OPTIONS.webui.default } = options;
  const { engine = HOSTING_OPTIONS.engine.default, stepTimeout = HOSTING_OPTIONS.stepTimeout.default } = options;
  const { settings, log } = serverSettings(options);
  const { mcpConfig, mcpServersJson: json } = options;
  return {
    ...(socketPath !== undefined ? { socketPath } : host !== undefined && { hosts: toHosts(host) }),
    ...toSecrets(options),
    ...(port !== undefined && { port }),
    ...settings,
    ...toDeployment(options),
    ...((mcpConfig ?? json) !== undefined && { mcp: { file: mcpConfig, json, environment: process.env } }),
    engine: {
      inProcess: engine === 'in-process',
      stepTimeoutMs: stepTimeout * 1000,
      coreDumps: options.coreDumps ?? false,
      onRestart: tellRestart,
    },
    app: {
      log,
      strict,
      ...(webui && mode !== 'serverless' && { guard: webPage }),
      stallTimeoutMs: stallTimeout * 1000,
      slots: options.slots ?? HOSTING_OPTIONS.slots.default,
      ...(allowPrivateImageHosts && { imageHosts: 'any' }),
      ...(bodyLimit !== undefined && { bodyLimit: bodyLimit * MIB }),
      ...(corsOrigins && { corsOrigins: toList(corsOrigins).filter((origin) => origin !== 'none') }),
      ...(allowedHosts && { allowedHosts: toList(allowedHosts) }),
    },
  };
}

/** All model settings except the models to load at startup. */
export function modelsSettings(
  options: HostingOptions,
): Omit<ModelsSettings, 'paths' | 'onFailure'> & Required<Pick<ModelsSettings, 'onFailure'>> {
  const { modelsDir, modelsMemory, modelsMax, autoload = HOSTING_OPTIONS.autoload.default } = options;
  const { loadTimeout = HOSTING_OPTIONS.loadTimeout.default, ttl = HOSTING_OPTIONS.ttl.default } = options;
  return {
    ...(modelsDir !== undefined && { folder: modelsDir }),
    ...(modelsMemory !== undefined && { budgetBytes: modelsMemory * MIB }),
    ...(modelsMax !== undefined && { maxModels: modelsMax }),
    autoload,
    loadTimeoutMs: loadTimeout * 1000,
    ttlMs: ttl * 1000,
    ...(options.pin && { pins: toList(options.pin) }),
    onFailure: (id, error) => console.error(`chasqui: ${id} was not loaded: ${explainFailure(error)}`),
  };
}

function toSecrets(options: HostingOptions): Pick<StartSettings, 'access' | 'certificate'> {
  const { apiKey, apiKeyFile, tlsCert, tlsKey } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw invalidOptions('`tlsCert` and `tlsKey` are given together.');
  }
  const keys = asksForKeys(options) ? new SharedKeys(apiKey === undefined ? [] : toList(apiKey), apiKeyFile) : null;
  return {
    ...(keys && { access: (key: string) => keys.admits(key) }),
    ...(tlsCert && tlsKey && { certificate: new Certificate(tlsCert, tlsKey) }),
  };
}

const PROCESSES = { engine: 'the engine', preparation: 'what prepares requests' } as const;

function tellRestart({ process: which, end, afterMs }: RestartEvent): void {
  const next = afterMs === null ? 'it is not started again' : 'it is started again';
  const when = afterMs ? ` in ${(afterMs / 1000).toFixed(1)} s` : '';
  const said = end.said ? ` (${withFlags(end.said)})` : '';
  console.error(`chasqui: ${PROCESSES[which]} ended: ${end.message}${said}; ${next}${when}`);
}

function toDeployment(options: HostingOptions): { deployment?: DeploymentSettings } {
  const { org, app, auth, keysFile, appModels, mode = HOSTING_OPTIONS.mode.default } = options;
  if (mode === 'serverless') {
    if (!org || !app) {
      throw invalidOptions('--mode serverless needs --org <org_id> and --app <app_id>');
    }
    const keys = keysFile === undefined ? {} : { keysFile };
    return { deployment: { org, app, auth: auth ?? 'private', dataDir: dataDir(options.dataDir), ...keys } };
  }
  if ([org, app, auth, keysFile, appModels].some((each) => each !== undefined)) {
    throw invalidOptions(
      `--org, --app, --auth, --keys-file and --app-models are for --mode serverless, not for ${mode} mode`,
    );
  }
  return {};
}
