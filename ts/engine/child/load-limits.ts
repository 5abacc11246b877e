/**
 * Limits of a preparation process while it loads. llama.cpp renders the chat template of the model then, which may loop
 * for ever or take all memory. Linux only.
 */
import { ChasquiError } from '../../errors.js';
import { readProcessUsage } from '../../process/process-usage.js';

const LOOK_MS = 50;
/** Node, the addon and a large vocabulary. */
const BASE_MIB = 512;
/** Of CPU time: a slow disk does not count. A usual template takes less than one second. */
const MAX_SECONDS = 60;
const MIB = 2 ** 20;

/** Ends the worker of the same model as well, which renders the same template. */
export class LoadLimitExceeded extends ChasquiError {
  constructor(what: string) {
    super(
      'model_load_failed',
      `Analysing the chat template took more than ${what}. Replace it by \`chatTemplateFile\`.`,
    );
    this.option = 'chatTemplateFile';
  }
}

/** Calls `onExceeded` at most once. Returns a function that ends the watch. */
export function watchLoad(
  pid: number | undefined,
  memoryMiB: number,
  onExceeded: (error: LoadLimitExceeded) => void,
): () => void {
  const maxMiB = BASE_MIB + memoryMiB;
  const timer = setInterval(() => {
    const usage = pid === undefined ? null : readProcessUsage(pid);
    if (usage === null) return;
    const isLarge = usage.residentBytes > maxMiB * MIB;
    if (!isLarge && usage.cpuSeconds <= MAX_SECONDS) return;
    clearInterval(timer);
    onExceeded(new LoadLimitExceeded(isLarge ? `${maxMiB} MiB of memory` : `${MAX_SECONDS} s`));
  }, LOOK_MS);
  return () => clearInterval(timer);
}
