/** Finds settings that keep all layers of a model on the GPUs. */
import type { NativeDeviceMemory } from './addon.js';

export interface ContextSettings {
  parallel: number;
  /** Tokens of one completion. */
  contextLength: number;
}

/** Memory with all layers on the GPUs, on the device where most of it is missing. In bytes. */
export interface MissingMemory {
  device: string;
  needs: number;
  /** KV cells and compute buffers; the rest of `needs` does not depend on the settings. */
  context: number;
  /** Without the memory to leave free. */
  free: number;
  /** The largest values that fit, each with the other one as it is; 0: none. */
  fits: ContextSettings;
}

export type MeasureSettings = (settings: ContextSettings) => readonly NativeDeviceMemory[];

/** llama.cpp rounds contexts to multiples of this. */
const CONTEXT_STEP = 256;
/** Each try sets up the model, without its weights. Memory grows linearly, so few are needed. */
const MAX_TRIES = 8;

/** `asked`: settings that do not fit. Leaves `spareBytes` free on each GPU. */
export function smallerSettings(measure: MeasureSettings, asked: ContextSettings, spareBytes: number): MissingMemory {
  const tightest = (settings: ContextSettings) => {
    const gpus = measure(settings).filter(({ name }) => name !== '');
    const sizes = gpus.map(({ name, weights, cells, compute, other, free }) => ({
      device: name,
      needs: weights + cells + compute + other,
      context: cells + compute,
      free: Math.max(0, free - spareBytes),
    }));
    return sizes.reduce((worst, each) => (missingOf(each) > missingOf(worst) ? each : worst));
  };
  const now = tightest(asked);
  const largest = (name: keyof ContextSettings, step: number) =>
    largestThatFits((value) => missingOf(tightest({ ...asked, [name]: value })), step, asked[name], missingOf(now));
  return { ...now, fits: { parallel: largest('parallel', 1), contextLength: largest('contextLength', CONTEXT_STEP) } };
}

function missingOf({ needs, free }: Pick<MissingMemory, 'needs' | 'free'>): number {
  return needs - free;
}

/** Regula falsi between the least value and one that does not fit. Returns a multiple of `step`; 0: none fits. */
function largestThatFits(
  missing: (value: number) => number,
  step: number,
  tooLarge: number,
  missingThere: number,
): number {
  let [low, high] = [
    { value: step, missing: 0 },
    { value: tooLarge, missing: missingThere },
  ];
  if (tooLarge <= step) return 0;
  low.missing = missing(step);
  if (low.missing > 0) return 0;
  for (let tries = 0; tries < MAX_TRIES; ++tries) {
    const root = low.value + ((high.value - low.value) * -low.missing) / (high.missing - low.missing);
    const value = Math.floor(root / step) * step;
    if (value <= low.value || value >= high.value) break;
    const found = { value, missing: missing(value) };
    if (found.missing <= 0) low = found;
    else high = found;
  }
  return low.value;
}
