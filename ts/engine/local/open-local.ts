import { resolve } from 'node:path';
import { ChasquiError } from '../../errors.js';
import type { NativeEngine } from '../../native/addon.js';
import { useModules } from '../../native/backends.js';
import { loadAddon } from '../../native/load-addon.js';
import type { OpenRequest } from '../../native/native-options.js';
import { samplingOf } from '../../options/sampling-table.js';
import { readAdapterFiles } from '../adapter-file.js';
import { checkMetadata, tryMetadata } from '../check-metadata.js';
import { chooseContext } from '../choose-context.js';
import type { OnCoreEvents } from '../core.js';
import { catalogued } from '../engine-errors.js';
import type { ModelInfo } from '../engine-types.js';
import { type LoadHooks, type LoadOptions, modelIdOf } from '../load-options.js';
import { loadedShare, modifiedMsOf } from '../model-files.js';
import { type ChosenOffload, chooseOffload } from '../offload.js';
import { toOpenRequest } from '../to-native-options.js';
import { LocalCore } from './local-core.js';
import { ReplyParsers } from './reply-parsers.js';

export interface OpenedCore {
  core: LocalCore;
  info: ModelInfo;
}

/**
 * `onEvents` is called on this thread, once for each wake of the engine.
 * @throws {ChasquiError} as `loadModel` does; or the signal's reason.
 */
export async function openLocal(
  path: string,
  options: LoadOptions,
  { signal, onProgress }: LoadHooks,
  onEvents: OnCoreEvents,
): Promise<OpenedCore> {
  signal?.throwIfAborted();
  const absolutePath = resolve(path);
  const asked = toOpenRequest(absolutePath, options);
  const { addon } = loadAddon();
  const used = await useModules(options.backend);
  const wanted = { ...asked, modules: used.modules };
  const gpus = used.gpus.map(({ name, memoryTotal }) => ({ name, memoryBytes: memoryTotal }));
  signal?.throwIfAborted();
  checkMetadata(absolutePath, options.overrideKv ?? []);
  await tryMetadata(wanted, signal);
  const context = await chooseContext(wanted, options, signal);
  const request = { ...wanted, options: { ...wanted.options, ...context } };
  const chosen = await chooseOffload(request, options, signal);
  const parsers = new ReplyParsers((format) => addon.openParser(format));
  const { mmprojPath, draftModel, adapters } = request.options;
  const share = loadedShare(absolutePath, {
    draft: draftModel,
    silent: [mmprojPath, ...adapters].filter(Boolean),
  });
  const opening = addon.open(
    { ...request, options: { ...request.options, offload: chosen.offload } },
    (records, count, text, extras) => onEvents(records, count, text, extras, parsers.read(records, count, text)),
    onProgress && ((progress) => onProgress(share(progress))),
  );
  const onAbort = () => opening.abort();
  signal?.addEventListener('abort', onAbort);
  try {
    const native = await catalogued(opening.engine);
    onProgress?.(1);
    if (signal?.aborted) await native.close();
    signal?.throwIfAborted();
    const info = describe(
      native,
      absolutePath,
      options,
      gpus.length > 0 ? withoutGpu(native, asked, options, chosen) : chosen,
    );
    return { core: new LocalCore(native, parsers), info: gpus.length > 0 ? { ...info, gpus } : info };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

/** The driver may offer no GPU any more, although the module passed its probe. */
function withoutGpu(
  native: NativeEngine,
  { options: { offload } }: Pick<OpenRequest, 'options'>,
  { backend = 'auto' }: LoadOptions,
  chosen: ChosenOffload,
): ChosenOffload {
  if (offload.devices?.length === 0 || native.info().placement.devices.length > 0) return chosen;
  const what = 'The GPU driver offers no device any more';
  const advice = 'Check the driver, such as with `nvidia-smi`, then restart chasqui';
  if (backend === 'auto') return { ...chosen, unfitted: `${what}, so the model is on the CPU. ${advice}` };
  throw new ChasquiError('backend_unavailable', `${what}, and \`backend\` is ${backend}. ${advice}.`, 'backend');
}

function describe(native: NativeEngine, path: string, options: LoadOptions, { unfitted }: ChosenOffload): ModelInfo {
  const info = native.info();
  const adapters = readAdapterFiles(options.lora);
  const sampling = samplingOf(options);
  return {
    ...info,
    id: modelIdOf(path, options),
    path,
    created: Math.floor((modifiedMsOf(path) ?? Date.now()) / 1000),
    inputModalities: [
      'text',
      ...(info.vision ? ['image' as const] : []),
      ...(info.audioSampleRate ? ['audio' as const] : []),
    ],
    ...(unfitted !== undefined && { unfitted }),
    ...(Object.keys(sampling).length > 0 && { sampling }),
    ...(adapters.length > 0 && { adapters: adapters.map(({ name, scale }) => ({ name, scale })) }),
  };
}
