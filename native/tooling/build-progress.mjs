// Progress and remaining time of a build. Steps differ a hundredfold in duration, so known durations are added up.
import { spawnSync } from 'node:child_process';
import path from 'node:path';

// Seconds per step on one core; only the proportions matter. The first matching pattern counts.
const costs = [
  [/llama\.dir\/Unity\//, 20],
  [/llama-common\.dir\/Unity\//, 20],
  [/mtmd\.dir\/Unity\//, 12],
  [/llama-common\.dir\//, 8],
  [/ggml-cpu[^/]*\.dir\/.*(ops|repack|quants|sgemm|mmq)\.c/, 10],
  [/(ggml-vulkan|ggml-cuda)/, 20],
  [/\.(c|cpp|cc|cu|mm?)\.(o|obj)$/, 4],
];
const otherCost = 0.3;

/** No estimate before this share of the build is done. */
const minShare = 0.03;

export class BuildProgress {
  #names;
  #total;
  #done = 0;
  #started;
  #now;

  /** @param steps outputs to be built, if known, see `stepsOf` */
  constructor(steps = [], now = Date.now) {
    this.#names = new Set(steps);
    this.#total = sum(steps);
    this.#now = now;
    this.#started = now();
  }

  /**
   * Processes a line of the build tool's output.
   * @returns {string | undefined} for example `38 %, about 3 min left (llama-vocab.cpp)`
   */
  add(line) {
    const ninja = /^\[(\d+)\/(\d+)\] (?!Re-checking).*?(\S+)$/.exec(line);
    if (ninja) return this.#afterStep(Number(ninja[1]), Number(ninja[2]), ninja[3]);
    const percent = /^\[ *(\d+)%\]/.exec(line)?.[1];
    return percent === undefined ? undefined : this.#say(Number(percent) / 100);
  }

  #afterStep(number, count, name) {
    this.#done += costOf(name);
    // If the steps are unknown, the remaining ones are assumed to be like the finished ones.
    const share = this.#names.has(name) ? this.#done / this.#total : number / count;
    return `${this.#say(Math.min(share, number === count ? 1 : 0.99))} (${shortName(name)})`;
  }

  #say(share) {
    const percent = `${Math.floor(share * 100)} %`;
    if (share < minShare || share >= 1) return percent;
    const elapsed = (this.#now() - this.#started) / 1000;
    return `${percent}, ${inMinutes((elapsed * (1 - share)) / share)} left`;
  }
}

/** The outputs that ninja would build in a directory; undefined with other build tools. */
export function stepsOf(directory, targets = []) {
  const result = spawnSync('ninja', ['-C', directory, '-n', ...targets], { encoding: 'utf8', maxBuffer: 64 << 20 });
  if (result.status !== 0) return [];
  return [...result.stdout.matchAll(/^\[\d+\/\d+\] (?!Re-checking).*?(\S+)$/gm)].map(([, name]) => name);
}

function sum(names) {
  return names.reduce((total, name) => total + costOf(name), 0);
}

function costOf(name) {
  return costs.find(([pattern]) => pattern.test(name))?.[1] ?? otherCost;
}

function shortName(name) {
  return path.basename(name).replace(/\.(o|obj)$/, '');
}

function inMinutes(seconds) {
  return seconds < 50 ? 'less than a minute' : `about ${Math.max(1, Math.round(seconds / 60))} min`;
}
