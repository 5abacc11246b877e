/** From the options that say how a server is hosted to its profile and its settings. */
import type { RestartEvent } from '../engine/child/supervised-engine.js';
import { ChasquiError } from '../errors.js';
import { desktop } from '../profiles/desktop.js';
import type { Profile } from '../profiles/profile.js';
import { runtime } from '../profiles/runtime.js';
import { serverless } from '../profiles/serverless.js';
import type { ModelsSettings } from '../server/open-pool.js';
import type { DeploymentSettings, StartSettings } from '../server/start.js';
import { dataDir } from './data-dir.js';
import { explainFailure } from './explain-failure.js';
import { HOSTING_OPTIONS, type HostingOptions } from './hosting-option-table.js';
import { toList } from './table-options.js';
import { watchingSettings } from './watching-settings.js';

const PROFILES = { runtime, desktop, serverless };
const MIB = 2 ** 20;

export function profileOf({ mode = HOSTING_OPTIONS.mode.default, maxPriority }: HostingOptions): Profile {
  const profile = PROFILES[mode];
  return maxPriority === undefined ? profile : { ...profile, maxPriority };
}

export function hostingSettings(options: HostingOptions): Omit<StartSettings, 'models' | 'model'> {
  const { host, port, bodyLimit, corsOrigins, allowedHosts, allowPrivateImageHosts } = options;
  const { strict = HOSTING_OPTIONS.strict.default, stallTimeout = HOSTING_OPTIONS.stallTimeout.default } = options;
  const { engine = HOSTING_OPTIONS.engine.default, stepTimeout = HOSTING_OPTIONS.stepTimeout.default } = options;
  const { settings, log } = watchingSettings(options);
  return {
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
    ...settings,
    ...toDeployment(options),
    engine: {
      inProcess: engine === 'in-process',
      stepTimeoutMs: stepTimeout * 1000,
      coreDumps: options.coreDumps ?? false,
      onRestart: tellRestart,
    },
    app: {
      log,
      strict,
      stallTimeoutMs: stallTimeout * 1000,
      ...(allowPrivateImageHosts && { imageHosts: 'any' }),
      ...(bodyLimit !== undefined && { bodyLimit: bodyLimit * MIB }),
      ...(corsOrigins && { corsOrigins: toList(corsOrigins).filter((origin) => origin !== 'none') }),
      ...(allowedHosts && { allowedHosts: toList(allowedHosts) }),
    },
  };
}

/** All but which models are loaded at the start. */
export function modelsSettings(options: HostingOptions): Omit<ModelsSettings, 'paths'> {
  const { modelsDir, modelsMemory, autoload = HOSTING_OPTIONS.autoload.default } = options;
  const { loadTimeout = HOSTING_OPTIONS.loadTimeout.default, ttl = HOSTING_OPTIONS.ttl.default } = options;
  return {
    ...(modelsDir !== undefined && { folder: modelsDir }),
    ...(modelsMemory !== undefined && { budgetBytes: modelsMemory * MIB }),
    autoload,
    loadTimeoutMs: loadTimeout * 1000,
    ttlMs: ttl * 1000,
    onFailure: (id, error) => console.error(`chasqui: ${id} was not loaded: ${explainFailure(error)}`),
  };
}

function tellRestart({ end, afterMs }: RestartEvent): void {
  const next = afterMs === null ? 'it is not started again' : 'it is started again';
  const when = afterMs ? ` in ${(afterMs / 1000).toFixed(1)} s` : '';
  const said = end.said ? ` (${end.said})` : '';
  console.error(`chasqui: the engine ended: ${end.message}${said}; ${next}${when}`);
}

function toDeployment(options: HostingOptions): { deployment?: DeploymentSettings } {
  const { org, app, auth, keysFile, mode = HOSTING_OPTIONS.mode.default } = options;
  if (mode === 'serverless') {
    if (!org || !app) {
      throw new ChasquiError('invalid_options', '--mode serverless needs --org <org_id> and --app <app_id>');
    }
    const keys = keysFile === undefined ? {} : { keysFile };
    return { deployment: { org, app, auth: auth ?? 'private', dataDir: dataDir(options.dataDir), ...keys } };
  }
  if (org !== undefined || app !== undefined || auth !== undefined || keysFile !== undefined) {
    throw new ChasquiError(
      'invalid_options',
      `--org, --app, --auth and --keys-file are for --mode serverless, not for ${mode} mode`,
    );
  }
  return {};
}
