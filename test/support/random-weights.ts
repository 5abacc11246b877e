/** Quantiles by deviation: a model has few deviations, and computing a table takes 25 ms. */
const tables = new Map<number, Uint16Array>();

/**
 * Normally distributed half-precision numbers, hundreds of millions a second: each is picked from a table, which is
 * random enough for measuring speed.
 */
export class RandomWeights {
  readonly #table: Uint16Array;
  #state: number;

  constructor(seed: number, deviation: number) {
    this.#table = tables.get(deviation) ?? quantiles(deviation);
    tables.set(deviation, this.#table);
    this.#state = (seed * 0x9e3779b1) | 1;
  }

  take(elements: number): Buffer {
    const out = new Uint16Array(elements);
    const table = this.#table;
    let state = this.#state;
    for (let i = 0; i < elements; i++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      out[i] = table[state >>> 16] as number;
    }
    this.#state = state;
    return Buffer.from(out.buffer);
  }
}

/** Uniform choices among quantiles of the normal distribution are normally distributed. */
function quantiles(deviation: number): Uint16Array {
  const size = 1 << 16;
  return Uint16Array.from({ length: size }, (_, i) => toHalf(deviation * normalQuantile((i + 0.5) / size)));
}

/** By Winitzki's approximation of the inverse error function, good to a few thousandths. */
function normalQuantile(probability: number): number {
  const x = 2 * probability - 1;
  const a = 0.147;
  const logarithm = Math.log(1 - x * x);
  const half = 2 / (Math.PI * a) + logarithm / 2;
  return Math.sign(x) * Math.SQRT2 * Math.sqrt(Math.sqrt(half * half - logarithm / a) - half);
}

/** Half precision of a number below 65,504; what is too small for a normal number becomes zero. */
export function toHalf(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0] as number;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 127 + 15;
  if (exponent <= 0) return sign;
  // A carry out of the mantissa raises the exponent, as it should.
  return sign | (((exponent << 10) | ((bits >>> 13) & 0x3ff)) + ((bits >>> 12) & 1));
}
