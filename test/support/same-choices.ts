/** Compares completions token by token, where kernels may round in other ways. */
import * as assert from 'uvu/assert';
import type { Token } from '../../ts/engine/engine.js';

export interface Choice {
  id: number;
  logprob: number;
  top: readonly { id: number; logprob: number }[];
}

/** The tokens of a job that reports log-probabilities. */
export async function readChoices(stream: AsyncIterable<Pick<Token, 'id' | 'logprobs'>>): Promise<Choice[]> {
  const choices: Choice[] = [];
  for await (const { id, logprobs } of stream) {
    choices.push({ id, logprob: logprobs?.logprob ?? Number.NaN, top: logprobs?.top ?? [] });
  }
  return choices;
}

/**
 * Asserts that both lists have the same tokens up to the first near-tie in `expected`. Kernels round differently for
 * different batch shapes, so log-probabilities may differ by `rounding`.
 */
export function assertSameChoices(
  actual: readonly Choice[],
  expected: readonly Choice[],
  title: string,
  rounding = 0.05,
): void {
  for (const [at, choice] of actual.entries()) {
    const other = expected[at];
    if (other === undefined) throw new Error(`${title}: ${actual.length} tokens instead of ${expected.length}`);
    const known = [other, ...other.top].find(({ id }) => id === choice.id)?.logprob ?? Number.NEGATIVE_INFINITY;
    const described = `${title}, token ${at}: ${JSON.stringify(choice)} instead of ${JSON.stringify(other)}`;
    assert.ok(Math.abs(known - choice.logprob) < rounding && other.logprob - known < 2 * rounding, described);
    if (choice.id !== other.id) return;
  }
  assert.is(actual.length, expected.length, title);
}
