// Drafts of the text that a grammar lets expect change neither completions nor their probabilities, and save steps.
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RenderOptions } from '../../ts/engine/engine.js';
import { type GenerateRequest, grammarOf, loadModel, type Model } from '../../ts/index.js';
import { answer } from '../support/answer.js';
import { demoModelPath } from '../support/demo-model.js';
import { assertSameChoices, readChoices } from '../support/same-choices.js';
import { tenKeys } from '../support/ten-keys.js';

const jsonSchema = tenKeys;
const tools = [{ name: 'register_person', parameters: jsonSchema }];
/** The grammar makes the model say what it finds improbable, where quantised weights round more. */
const ROUNDING = 0.5;

let plain: Model;
let drafting: Model;
test.before(async () => {
  const options = { contextSize: 2048, parallel: 4, threads: 1 };
  plain = await loadModel(demoModelPath, { ...options, draftMax: 0 });
  // Whether drafts pay off depends on the machine, so they are made in any case.
  drafting = await loadModel(demoModelPath, { ...options, draftMax: 16, draftMin: 1 });
});
test.after(async () => {
  await plain.close();
  await drafting.close();
});

async function jobOf(options: RenderOptions, settings: Partial<GenerateRequest>): Promise<GenerateRequest> {
  const messages = [{ role: 'user' as const, content: 'Describe a person.' }];
  const { prompt, grammar, preservedTokens, format } = await plain.render(messages, options);
  return { prompt, grammar, preservedTokens, format, maxTokens: 600, ...settings } as GenerateRequest;
}

const itemsOf = (times: string) =>
  grammarOf(`root ::= "{" item${times} "}"\nitem ::= "<" [a-c]{2} ": " [0-9] ", and then the text is certain; "`);
const CASES: [name: string, options: RenderOptions, settings: Partial<GenerateRequest>][] = [
  ['a schema', { jsonSchema }, { temperature: 0 }],
  ['a schema, sampled', { jsonSchema }, { temperature: 1, seed: 7 }],
  ['a schema, sampled with penalties', { jsonSchema }, { temperature: 0.8, seed: 8, repeatPenalty: 1.1 }],
  ['a schema, a chain of samplers', { jsonSchema }, { temperature: 0.8, seed: 9, samplers: ['top_p', 'temperature'] }],
  ['a required call', { tools, toolChoice: 'required' }, { temperature: 0 }],
  ['GBNF', {}, { grammar: itemsOf('{8}'), temperature: 0 }],
  ['GBNF, sampled', {}, { grammar: itemsOf('{8}'), temperature: 1.5, seed: 3 }],
  ['a stop string', { jsonSchema }, { temperature: 0, stop: ['ountry"'] }],
  ['a short completion', { jsonSchema }, { temperature: 0, maxTokens: 23 }],
];

for (const [name, options, settings] of CASES) {
  test(`with drafts or without, alone or beside another, a completion is the same: ${name}`, async () => {
    const request = await jobOf(options, { topLogprobs: 3, ...settings });
    const expected = await readChoices(plain.generate(request));
    for (const others of [0, 1, 3]) {
      const beside = Array.from({ length: others }, () => answer(drafting, request));
      const given = await readChoices(drafting.generate(request));
      await Promise.all(beside);
      if (drafting.model.batchInvariant) assert.equal(given, expected);
      else assertSameChoices(given, expected, name, ROUNDING);
    }
    const [one, other] = [await answer(plain, request), await answer(drafting, request)];
    assert.equal(
      [other.text, other.finish.reason, other.finish.stopString],
      [one.text, one.finish.reason, one.finish.stopString],
    );
  });
}

test('the text between free values is drafted, although nothing repeats itself', async () => {
  for (const [options, settings] of [
    [{ jsonSchema }, {}],
    [{ tools, toolChoice: 'required' }, {}],
    [{}, { grammar: grammarOf('root ::= "First this text is certain, " [a-z] ", and then that one."') }],
  ] as [RenderOptions, Partial<GenerateRequest>][]) {
    const request = await jobOf(options, { temperature: 0, ...settings });
    // The engine makes fewer drafts after steps that other programs slowed down.
    let accepted = 0;
    for (let round = 0; round < 20 && accepted <= 10; round++) {
      const before = await drafting.stats();
      const { ids, finish } = await answer(drafting, request);
      const steps = (await drafting.stats()).decodeSteps - before.decodeSteps;
      accepted = finish.acceptedTokens;
      assert.ok(steps <= ids.length + 1 - accepted, `${steps} steps, ${JSON.stringify(finish)}`);
    }
    assert.ok(accepted > 10, `${accepted} tokens of drafts`);
  }
});

test('a completion continues correctly after others took its slot', async () => {
  // The client stops reading, so the engine pauses the completion long before its end.
  const request = await jobOf({}, { grammar: itemsOf('+'), temperature: 0, maxTokens: 1500, priority: -1 });
  const expected = await answer(plain, request);
  const { preemptions } = await drafting.stats();
  const ids: number[] = [];
  for await (const { id } of drafting.generate(request)) {
    ids.push(id);
    if (ids.length !== 20) continue;
    await Promise.all([1, 2, 3, 4].map(() => answer(drafting, { ...request, priority: 1, maxTokens: 40 })));
  }
  assert.ok((await drafting.stats()).preemptions > preemptions, 'it was preempted');
  assert.is(ids.length, expected.ids.length);
  if (drafting.model.batchInvariant) assert.equal(ids, expected.ids);
});

test.run();
