/** Public `resolveModel`, `inspect` and `fits`. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LoadOptions } from '../engine/load-options.js';
import { ChasquiError, type ErrorCode } from '../errors.js';
import { DEMO_MODEL, dataFolder, isDemo } from '../hub/data-folder.js';
import { inspectModel, type ModelFacts } from '../hub/inspect-model.js';
import type { LocalModel } from '../hub/library.js';

export interface ResolveOptions {
  /** Called during a download with the fraction, 0 to 1, and the size in bytes. */
  onProgress?(fraction: number, totalBytes: number): void;
  /** Ends a download, which a later call resumes. */
  signal?: AbortSignal | undefined;
}

/** Files of a model, and load options that follow from their source. */
export interface ResolvedModel extends Pick<LoadOptions, 'mmproj'> {
  path: string;
  /** Name of a downloaded or imported model. */
  alias?: readonly string[];
}

/**
 * Returns the file of a model, and downloads it if needed. `name` is a path, `demo`, a model that `chasqui ls` lists,
 * `hf:user/repo:Q4_K_M`, or the URL of a GGUF file or of a page of the hub. `HF_TOKEN`, `HF_ENDPOINT`, `HF_HUB_CACHE` and
 * `CHASQUI_HOME` apply as in commands.
 * @throws {ChasquiError} `model_file_missing`, `model_fetch_failed`, errors of the hub; or the signal's reason
 */
export async function resolveModel(name: string | URL, options: ResolveOptions = {}): Promise<ResolvedModel> {
  const text = String(name);
  if (/^file:/i.test(text)) return { path: fileURLToPath(text) };
  const isUrl = /^https?:/i.test(text);
  if (!isUrl && (existsSync(text) || (/\.gguf$/i.test(text) && !/^hf:/i.test(text)))) return { path: text };
  if (isDemo(text)) return { path: DEMO_MODEL };
  const { isHubAddress } = await import('../hub/model-name.js');
  if (isHubAddress(text)) return resolveHubModel(text, options);
  if (isUrl) return { path: await fetchFile(text, options) };
  const local = await findLocal(text);
  if (local !== undefined) return toResolved(local);
  throw new ChasquiError(
    'model_file_missing',
    `${text.slice(0, 200)} is no file, and no model on this computer. Models of the hub begin with \`hf:\`.`,
  );
}

/**
 * Reads facts of a model file from its header: architecture, size, context, template.
 * @throws {ChasquiError} `model_file_missing`, `model_file_invalid`, and those of `resolveModel`
 */
export async function inspect(model: string | URL): Promise<ModelFacts> {
  const { path: file, mmproj } = await resolveModel(model);
  return inspectModel(file, mmproj);
}

export interface MemoryFit {
  /** Whether the model fits into the free memory. */
  fits: boolean;
  needBytes: number;
  /** Free memory of the devices that the model would use. */
  freeBytes: number;
  /** In tokens: the option, or the trained one. */
  contextSize: number;
  /** The longest context that fits, in tokens; 0: none. */
  longestContextSize: number;
  /** Parts of `needBytes`: weights, KV cache, and buffers. */
  weightsBytes: number;
  kvBytes: number;
  computeBytes: number;
  /** One for each GPU, and one with an empty name for main memory. */
  devices: readonly { name: string; needBytes: number; freeBytes: number }[];
}

/**
 * Computes the memory that a model would use with these load options, without loading it.
 * @throws {ChasquiError} `fit_unknown`, and those of `inspect` and `loadModel`; or the signal's reason
 */
export async function fits(
  model: string | URL,
  { signal, ...load }: LoadOptions & { signal?: AbortSignal } = {},
): Promise<MemoryFit> {
  const { projector, ...facts } = await inspect(model);
  const { exactFit } = await import('../hub/exact-fit.js');
  const contextSize = load.contextSize ?? facts.contextLength ?? 4096;
  const options = { load: { ...load, contextSize }, ...(signal && { signal }) };
  const fit = await exactFit({ path: facts.path, projector: load.mmproj ?? projector }, contextSize, options);
  return {
    fits: fit.badge !== 'too-large',
    needBytes: fit.needBytes,
    freeBytes: fit.haveBytes,
    contextSize: fit.context,
    longestContextSize: fit.contextThatFits,
    weightsBytes: fit.weights,
    kvBytes: fit.kv,
    computeBytes: fit.compute,
    devices: fit.devices.map(({ haveBytes: freeBytes, ...device }) => ({ ...device, freeBytes })),
  };
}

async function resolveHubModel(address: string, options: ResolveOptions): Promise<ResolvedModel> {
  const { openHub } = await import('../hub/open-hub.js');
  const hub = openHub(dataFolder(process.env), process.env);
  try {
    const found = (await hub.library.find(address)) ?? (await hub.library.findOfHub(address));
    if (found !== undefined) return toResolved(found);
    const { downloadModel } = await import('../hub/download-model.js');
    const { onProgress, signal } = options;
    const job = await downloadModel(hub, address, {
      ...(signal && { signal }),
      ...(onProgress && {
        onChange: ({ downloadedBytes, totalBytes }) =>
          onProgress(totalBytes === 0 ? 0 : downloadedBytes / totalBytes, totalBytes),
      }),
    });
    const { code, message } = job.error ?? { code: 'download_failed', message: 'The download was stopped.' };
    if (job.state !== 'completed' || job.path === null) throw new ChasquiError(code as ErrorCode, message);
    const local = await hub.library.find(job.path);
    return local === undefined ? { path: job.path } : toResolved(local);
  } finally {
    await hub.client.close();
  }
}

/** Shares the folder with `chasqui serve`. Later calls find the file. */
async function fetchFile(url: string, { onProgress, signal }: ResolveOptions): Promise<string> {
  const { fetchModel } = await import('../hub/fetch-model.js');
  const options = { ...(onProgress && { onProgress }), ...(signal && { signal }) };
  return fetchModel(url, path.join(dataFolder(process.env), 'models'), options);
}

async function findLocal(name: string): Promise<LocalModel | undefined> {
  const { openHub } = await import('../hub/open-hub.js');
  const { library, client } = openHub(dataFolder(process.env), process.env);
  await client.close();
  return library.find(name);
}

/** Explicit, because the folder can contain the projectors of other models. */
function toResolved({ id, path: file, projector }: LocalModel): ResolvedModel {
  return { path: file, alias: [id], mmproj: projector };
}
