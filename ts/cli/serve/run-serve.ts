/** Runs `chasqui serve` until a signal stops it. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { servedModels } from '../../cloud/runners/served-models.js';
import type { LoadOptions } from '../../engine/load-options.js';
import { invalidOptions } from '../../errors.js';
import { DEMO_MODEL, dataDir } from '../../hub/data-folder.js';
import type { LocalModel } from '../../hub/library.js';
import { hubFileName } from '../../hub/model-name.js';
import { LOAD_OPTIONS } from '../../options/load-option-table.js';
import { ownCall } from '../../own-call.js';
import type { Profile } from '../../profiles/profile.js';
import type { ModelPreset } from '../../server/model-specs.js';
import type { ModelsSettings } from '../../server/open-pool.js';
import { type Server, type StartSettings, start } from '../../server/start.js';
import { stopOnSignals } from '../../server/stop-on-signals.js';
import { exitCodeOf, withExitCode } from '../errors/exit-codes.js';
import type { Tried } from '../errors/explain-start.js';
import { type FoundModels, findHubModel, findNamed, notDownloaded } from '../hub/find-model.js';
import { HOSTING_OPTIONS, type HostingOptions } from '../options/hosting-option-table.js';
import { OPTION_NAMES } from '../options/option-names.js';
import { givenOptions } from '../options/table-options.js';
import { showProgress } from '../output/progress.js';
import type { RegisteredServer } from '../running/server-registry.js';
import { addressOf, announce } from './announce.js';
import { readAppModels } from './app-models.js';
import { hostingSettings, modelsSettings, profileOf, socketOf } from './hosting.js';

type Parsed = Readonly<Record<string, unknown>>;

export async function runServe(given: Parsed): Promise<void> {
  const progress = showProgress(process.stderr, 'Loading the model');
  let profile: Profile | undefined;
  let hosting: HostingOptions = {};
  let tried: Pick<Tried, 'path' | 'load'> = {};
  try {
    const parsed = await withFile(given);
    hosting = givenOptions(HOSTING_OPTIONS, parsed);
    if (hosting.printConfig) return await printConfig(hosting, givenOptions(LOAD_OPTIONS, parsed));
    if (hosting.listDevices) return await (await import('../doctor.js')).listDevices();
    if (hosting.background && (await startInBackground(hosting))) return;
    profile = profileOf(hosting);
    const { files, model } = await chooseModels(hosting, givenOptions(LOAD_OPTIONS, parsed));
    tried = { path: files.paths.length === 1 ? files.paths[0] : undefined, load: model };
    const settings = { ...toSettings(hosting, model), ...(await toHub(hosting)) };
    const { onFailure, ...others } = modelsSettings(hosting);
    const failures: unknown[] = [];
    const collect = (_id: string, error: unknown) => void failures.push(error);
    // An app requires all of its models; a server continues without a failed one.
    const models = { ...others, ...files, onFailure: hosting.appModels === undefined ? onFailure : collect };
    const server = await start(profile, { ...settings, models, hooks: { onProgress: progress.update } });
    stopOnSignals(
      () => server.stop(),
      () => console.error('chasqui: stopping; running requests may take a few seconds to finish'),
      { hardStopMs: server.stopWithinMs },
    );
    const entry = await register(server, hosting);
    // Signals are already handled here, so Ctrl-C can stop the loading.
    const ready = await server.load();
    progress.clear();
    if (failures.length > 0) throw failures[0];
    if (ready === null) return;
    announce(server, ready, profile, hosting, model);
    entry?.setReady(ready.map(({ id }) => id));
  } catch (error) {
    progress.clear();
    const { explainStart } = await import('../errors/explain-start.js');
    console.error(`chasqui: ${await explainStart(error, { ...profile, ...hosting, ...tried })}`);
    process.exit(exitCodeOf(error));
  }
}

/** Returns false in the background process itself. */
async function startInBackground(hosting: HostingOptions): Promise<boolean> {
  const { backgroundLog } = await import('../running/server-registry.js');
  if (backgroundLog() !== null) return false;
  const { serveInBackground } = await import('../running/background.js');
  await withExitCode(() => serveInBackground(hosting));
  return true;
}

/** For `chasqui status`. A server in the foreground also runs where the data folder is read-only. */
async function register(server: Server, hosting: HostingOptions): Promise<RegisteredServer | null> {
  const { backgroundLog, RegisteredServer, serversFolder } = await import('../running/server-registry.js');
  const log = backgroundLog();
  if (log !== null) (await import('../running/log-files.js')).limitLogFile(log);
  try {
    const about = { url: addressOf(server, hosting), socket: socketOf(hosting) ?? null, log };
    return RegisteredServer.add(serversFolder(dataDir(hosting.dataDir)), about);
  } catch (error) {
    if (log === null) return null;
    throw error;
  }
}

async function withFile(given: Parsed): Promise<Parsed> {
  const { config } = givenOptions({ config: HOSTING_OPTIONS.config }, given);
  if (config === undefined) return given;
  const { withConfigFile } = await import('../options/config-file.js');
  return withConfigFile(config, given, { ...HOSTING_OPTIONS, ...LOAD_OPTIONS }, process.env);
}

async function printConfig(hosting: HostingOptions, load: LoadOptions): Promise<void> {
  const { toConfigFile } = await import('../options/config-file.js');
  console.log(toConfigFile({ ...hosting, ...load }, { ...HOSTING_OPTIONS, ...LOAD_OPTIONS }));
}

/** Returns the models to serve, and their common load options. */
async function chooseModels(
  hosting: HostingOptions,
  given: LoadOptions,
): Promise<{ files: ModelsSettings; model: LoadOptions }> {
  const ofApp = readAppModels(hosting);
  if (ofApp !== undefined) {
    const { models: files, model } = servedModels(ofApp);
    return { files, model: { ...model, ...given } };
  }
  const { paths, library, ...found } = await findModels(hosting);
  const { presets, model } = await presetOf(hosting, { ...found, ...given });
  return { files: { paths, presets, ...(library && { library }) }, model };
}

async function findModels(options: HostingOptions): Promise<FoundModels> {
  const { model, modelUrl, hf, hfFile, offline, modelsDir, modelsPreset, dataDir: given } = options;
  const servesHub = options.modelsHub === true || options.allowDownloads === true;
  const hasOthers = modelsDir !== undefined || modelsPreset !== undefined || servesHub;
  const others = async () => (servesHub ? { library: await findInLibrary(options) } : {});
  if (hf !== undefined) {
    const name = hfFile === undefined ? hf : hubFileName(hf, hfFile);
    const found = await findHubModel(name, given, { offline });
    // The alias and projector of one model must not apply to all models of a folder.
    return hasOthers ? { paths: found.paths, ...(await others()) } : found;
  }
  if (hfFile !== undefined) throw invalidOptions('`hfFile` needs `hf`: the repository of the file.');
  if (modelUrl !== undefined) return { paths: [await fetchFromUrl(modelUrl, options)], ...(await others()) };
  if (model === undefined) return { paths: hasOthers ? [] : [DEMO_MODEL], ...(await others()) };
  const found: FoundModels[] = [];
  for (const each of model) found.push(await findNamed(each, given));
  if (found.length === 1 && !hasOthers) return found[0] as FoundModels;
  return { paths: found.flatMap(({ paths }) => paths), ...(await others()) };
}

async function findInLibrary({ dataDir: given, allowDownloads }: HostingOptions): Promise<LocalModel[]> {
  const { hubContext } = await import('../hub/hub-context.js');
  const { servedFrom } = await import('../../server/served-library.js');
  const { library, client } = hubContext(given);
  await client.close();
  const models = await servedFrom({ library });
  if (models.length > 0 || allowDownloads) return models;
  throw invalidOptions(
    `\`modelsHub\` serves the models on this computer, but there are none. Download one with ${ownCall()} get.`,
  );
}

async function fetchFromUrl(modelUrl: string, { offline, dataDir: given }: HostingOptions): Promise<string> {
  const { fetchedFileOf, fetchModel } = await import('../../hub/fetch-model.js');
  const folder = path.join(dataDir(given), 'models');
  if (offline && !existsSync(fetchedFileOf(modelUrl, folder))) throw notDownloaded(modelUrl);
  const progress = showProgress(process.stderr, 'Fetching the model');
  const stop = new AbortController();
  const onSignal = () => stop.abort(new Error('it was stopped'));
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, onSignal);
  try {
    const options = { onProgress: progress.update, signal: stop.signal };
    return await fetchModel(modelUrl, folder, options);
  } finally {
    progress.clear();
    for (const signal of signals) process.off(signal, onSignal);
  }
}

async function toHub({ allowDownloads, dataDir: given }: HostingOptions): Promise<Pick<StartSettings, 'hub'>> {
  if (!allowDownloads) return {};
  const { hubContext } = await import('../hub/hub-context.js');
  return { hub: hubContext(given) };
}

/** Precedence: command line, then the section of the model, then the section for all models. */
async function presetOf(
  { modelsPreset, dataDir: folder, offline }: HostingOptions,
  given: LoadOptions,
): Promise<{ model: LoadOptions; presets: ModelPreset[] }> {
  if (modelsPreset === undefined) return { model: given, presets: [] };
  const { readModelsPreset } = await import('../options/models-preset.js');
  const { models, defaults, ignored } = readModelsPreset(modelsPreset);
  for (const each of ignored) console.error(`chasqui: ${each}`);
  const { lora: _lora, ...common } = given;
  const presets: ModelPreset[] = [];
  for (const { hf, options, ...preset } of models) {
    const { paths = [], mmproj } = hf === undefined ? {} : await findHubModel(hf, folder, { offline });
    const [file] = paths;
    const own = { ...(mmproj !== undefined && { mmproj }), ...options, ...common };
    presets.push({ ...preset, ...(file !== undefined && { file }), options: own });
  }
  return { model: { ...defaults, ...given }, presets };
}

function toSettings(options: HostingOptions, model: LoadOptions): Omit<StartSettings, 'models'> {
  const hosting = hostingSettings(options);
  const cacheFolder = path.join(dataDir(options.dataDir), 'cache');
  return {
    ...hosting,
    model: { cacheFolder, ...model },
    app: { ...hosting.app, optionNames: OPTION_NAMES, verbose: model.verbose ?? false },
  };
}
