import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RenderOptions } from '../../ts/engine/engine.js';
import { type GenerateOptions, grammarOf } from '../../ts/engine/job.js';
import { ChasquiError, loadModel, type Model } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';
import { assertSameChoices, readChoices } from '../support/same-choices.js';

let model: Model;
test.before(async () => {
  model = await loadModel(demoModelPath, { contextSize: 2048, parallel: 4, threads: 1 });
});
test.after(() => model.close());

const messages = [{ role: 'user' as const, content: 'Count from 3 to 9.' }];
const tools = [
  {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 12 }, days: { type: 'integer', minimum: 1, maximum: 9 } },
      required: ['city', 'days'],
    },
  },
  { name: 'stop' },
];

async function answer(options: RenderOptions, settings: Partial<GenerateOptions>, from = model) {
  const { prompt, grammar, preservedTokens, format } = await from.render(messages, options);
  const job = { prompt, grammar, preservedTokens, format, ...settings };
  const { text: content, toolCalls, finish } = await from.generate(job).result();
  return { content, calls: toolCalls.map(({ name, arguments: json }) => ({ name, json })), reason: finish.reason };
}

const seeds = Array.from({ length: 20 }, (_, seed) => seed);

test('a function that is named is called, whatever the model would have said', async () => {
  await Promise.all(
    seeds.map(async (seed) => {
      const options = { tools, toolChoice: { name: 'get_weather' } };
      const { content, calls, reason } = await answer(options, { temperature: 1, seed, maxTokens: 300 });
      assert.is(reason, 'tool_calls', JSON.stringify({ content, calls }));
      assert.is(content.trim(), '');
      assert.equal(
        calls.map(({ name }) => name),
        ['get_weather'],
      );
      const { city, days, ...rest } = JSON.parse(calls[0]?.json ?? '');
      assert.is(typeof city, 'string');
      assert.ok([...city].length <= 12, JSON.stringify(calls));
      assert.ok(Number.isInteger(days) && days >= 1 && days <= 9, JSON.stringify(calls));
      assert.equal(rest, {});
    }),
  );
});

test('a call is required, and one is made', async () => {
  for (const seed of seeds.slice(0, 5)) {
    const options: RenderOptions = { tools, toolChoice: 'required', parallelToolCalls: false };
    const { calls, reason } = await answer(options, { temperature: 1, seed, maxTokens: 300 });
    assert.is(reason, 'tool_calls');
    assert.is(calls.length, 1);
    assert.ok(tools.some(({ name }) => name === calls[0]?.name));
  }
});

test('tools that may be called leave a text as it is', async () => {
  const { content, calls, reason } = await answer({ tools }, { temperature: 0 });
  assert.match(content, /3.*4.*5.*6.*7.*8.*9/);
  assert.equal(calls, []);
  assert.is(reason, 'stop');
});

test('tools that may be called beside a schema: the answer is a call or obeys it', async () => {
  const jsonSchema = {
    type: 'object',
    properties: { mood: { enum: ['good', 'bad'] } },
    required: ['mood'],
    additionalProperties: false,
  };
  // Favors a text by its first token.
  const biased = async (text: string) => ({ [(await model.tokenize(text, { parseSpecial: true }))[0] as number]: 50 });
  const leanings = { call: await biased('<tool_call>'), json: await biased('{') };
  for (const seed of seeds) {
    for (const [leaning, logitBias] of Object.entries({ none: {}, ...leanings })) {
      const settings = { temperature: 1, seed, maxTokens: 300, logitBias };
      const { content, calls, reason } = await answer({ tools, jsonSchema, parallelToolCalls: false }, settings);
      const saw = JSON.stringify({ seed, leaning, content, calls, reason });
      const kind = calls.length > 0 ? 'call' : 'json';
      if (leaning !== 'none') assert.is(kind, leaning, saw);
      assert.is(reason, kind === 'call' ? 'tool_calls' : 'stop', saw);
      if (kind === 'json') assert.match(content, /^\s*\{\s*"mood"\s*:\s*"(good|bad)"\s*\}\s*$/, saw);
      else assert.is(content.trim(), '', saw);
      for (const { name, json } of calls) {
        assert.ok(
          tools.some((tool) => tool.name === name),
          saw,
        );
        JSON.parse(json);
      }
    }
  }
});

/** Forty properties on three levels. */
const record = (fields: Record<string, object>) => ({
  type: 'object',
  properties: fields,
  required: Object.keys(fields),
  additionalProperties: false,
});
const leaf = [
  { type: 'integer', minimum: 0, maximum: 99 },
  { enum: ['red', 'green'] },
  { type: 'boolean' },
  { type: 'string', maxLength: 4 },
  { type: ['null', 'boolean'] },
];
const group = (n: number) =>
  record(Object.fromEntries(Array.from({ length: n }, (_, i) => [`f${i}`, leaf[i % 5] as object])));
const schema = record({
  ...Object.fromEntries(['a', 'b', 'c'].map((name) => [name, record({ left: group(5), right: group(4) })])),
  list: { type: 'array', items: { type: 'boolean' }, maxItems: 3 },
});

function leavesOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  return Object.values(value).flatMap(leavesOf);
}

test('a nested schema of forty properties is obeyed', async () => {
  await Promise.all(
    seeds.slice(0, 8).map(async (seed) => {
      const { content, reason } = await answer({ jsonSchema: schema }, { temperature: 1, seed, maxTokens: 1500 });
      assert.is(reason, 'stop', content);
      const value = JSON.parse(content);
      assert.equal(Object.keys(value), ['a', 'b', 'c', 'list']);
      assert.equal(Object.keys(value.b.left), ['f0', 'f1', 'f2', 'f3', 'f4']);
      assert.ok(leavesOf(value).length >= 27);
      assert.ok(['red', 'green'].includes(value.c.right.f1));
    }),
  );
});

/** The grammar makes the model say what it finds improbable, where quantised weights round more. */
const ROUNDING = 0.5;

test('guessed tokens obey the grammar as well, and change nothing', async () => {
  const guessing = await loadModel(demoModelPath, {
    contextSize: 2048,
    parallel: 1,
    threads: 1,
    draftMax: 8,
    draftMin: 8,
  });
  try {
    const { prompt, grammar } = await model.render(messages, { jsonSchema: schema });
    const job = { prompt, grammar, temperature: 0, maxTokens: 1500, topLogprobs: 20 };
    const plain = await readChoices(model.generate(job));
    assertSameChoices(await readChoices(guessing.generate(job)), plain, 'temperature 0', ROUNDING);
    const { content, reason } = await answer({ jsonSchema: schema }, { temperature: 0, maxTokens: 1500 }, guessing);
    assert.is(reason, 'stop', content);
    JSON.parse(content);
    assert.ok((await guessing.stats()).acceptedTokens > 0, 'some guesses came true');
  } finally {
    await guessing.close();
  }
});

test('one with a grammar and one without share a step', async () => {
  const alone = await answer({}, { temperature: 0 });
  const [free, bound] = await Promise.all([
    answer({}, { temperature: 0 }),
    answer({ jsonSchema: { enum: ['yes', 'no'] } }, { temperature: 0 }),
  ]);
  assert.equal(free, alone);
  assert.ok(['"yes"', '"no"'].includes(bound.content), bound.content);
});

for (const temperature of [0, 1]) {
  test(`what follows a grammar ends with it, even past the end of text, at temperature ${temperature}`, async () => {
    const settings = { ignoreEos: true, temperature, maxTokens: 50 };
    const ended = await answer({}, { ...settings, grammar: grammarOf('root ::= "yes" | "no"') });
    assert.match(ended.content, /^(yes|no)$/);
    assert.is(ended.reason, 'stop');
    const endless = await answer({}, { ...settings, grammar: grammarOf('root ::= "ab"+') });
    assert.match(endless.content, /^(ab){10,}a?$/);
    assert.is(endless.reason, 'length');
  });
}

for (const [name, gbnf, says] of [
  ['malformed', 'root ::= "a', /unexpected end of input/],
  ['for another library', '%llguidance {}', /expecting name/],
  ['of a rule that is missing', 'root ::= b', /undefined rule/],
  ['without a way to go on', 'root ::= "a" "\\x00"', /allows no token/],
] as const) {
  test(`a grammar ${name} is an error, and nothing else happens`, async () => {
    try {
      for await (const _ of model.generate({ prompt: 'x', grammar: grammarOf(gbnf), maxTokens: 5 }));
      assert.unreachable('it was taken');
    } catch (error) {
      assert.instance(error, ChasquiError);
      assert.is((error as ChasquiError).code, 'invalid_grammar');
      assert.match((error as ChasquiError).message, says);
    }
    const { content } = await answer({}, { temperature: 0, maxTokens: 3 });
    assert.ok(content.length > 0);
    assert.is((await model.stats()).active, 0);
  });
}

test.run();
