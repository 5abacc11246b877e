// Bodies with all fields of their protocol, then with anything wrong in them.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { testApp } from '../support/build-app.js';
import { postTo } from '../support/post-to.js';

const test = suite('http: mutated requests');

const SCHEMA = { type: 'object', properties: { a: { type: 'integer' } } };

const RESPONSES = {
  model: 'fake',
  instructions: 'a',
  input: [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }] },
    { role: 'assistant', content: [{ type: 'output_text', text: 'b', annotations: [] }] },
    { type: 'reasoning', id: 'r', summary: [], content: [{ type: 'reasoning_text', text: 'x' }] },
    { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'a', output: 'x' },
    { type: 'computer_call', call_id: 'b', actions: [{ type: 'wait' }] },
    { type: 'computer_call_output', call_id: 'b', output: 'x' },
  ],
  tools: [
    { type: 'function', name: 'f', parameters: SCHEMA, strict: true },
    { type: 'computer_use_preview', display_width: 640, display_height: 480, environment: 'browser' },
  ],
  tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] },
  text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA } },
  reasoning: { effort: 'low' },
  max_output_tokens: 5,
  temperature: 1,
  top_logprobs: 2,
  include: ['message.output_text.logprobs'],
  metadata: { a: 'b' },
  truncation: 'auto',
  logit_bias: { 5: 1 },
  stop: ['a'],
};

const MESSAGES = {
  model: 'fake',
  max_tokens: 5,
  system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'a' }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'a', signature: '' },
        { type: 'tool_use', id: 'a', name: 'f', input: { a: 1 } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'a' }] }] },
  ],
  tools: [{ name: 'f', input_schema: SCHEMA }],
  tool_choice: { type: 'any', disable_parallel_tool_use: true },
  stop_sequences: ['a'],
  top_k: 4,
  thinking: { type: 'enabled', budget_tokens: 10 },
  output_config: { effort: 'low', format: { type: 'json_schema', schema: SCHEMA } },
};

const EMBED = {
  model: 'fake',
  texts: ['a', 'b'],
  input_type: 'search_query',
  embedding_types: ['float', 'base64', 'binary', 'ubinary'],
  output_dimension: 1,
  truncate: 'END',
};

const PREDICT = {
  instances: [
    { '@requestFormat': 'chatCompletions', messages: [{ role: 'user', content: 'a' }], stream: true },
    { '@requestFormat': 'tokenize', content: 'a' },
  ],
};

const JUNK = [null, 0, -1, 1e308, 2.5, '', 'a', 'constructor', true, [], [null], {}, { type: null }, { role: 'user' }];
const KEYS = ['constructor', 'toString', 'type', 'content', 'role'];

/** The same numbers each time; `below` is small. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
}

type Place = [holder: Record<string, unknown>, key: string];

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key): Place[] => [[holder, key], ...placesIn(holder[key])]);
}

function mutate(body: object, next: (below: number) => number): void {
  const places = placesIn(body);
  const [holder, key] = places[next(places.length)] ?? [{}, ''];
  const junk = structuredClone(JUNK[next(JUNK.length)]);
  const change = next(3);
  if (change === 0) holder[key] = junk;
  else if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else if (change === 1) delete holder[key];
  else holder[KEYS[next(KEYS.length)] ?? ''] = junk;
}

for (const [url, whole] of [
  ['/v1/responses', RESPONSES],
  ['/v1/messages', MESSAGES],
  ['/v2/embed', EMBED],
  ['/predict', PREDICT],
] as const) {
  test(`${url}: what is wrong is a 4xx that names a field of this protocol, and holds nothing`, async () => {
    const { app, engine, serverErrors } = testApp();
    const post = postTo(app, url);
    assert.is((await post(whole)).statusCode, 200);
    const next = numbers(1);
    const statuses = new Set<number>();
    for (let round = 0; round < 500; round++) {
      const body = structuredClone(whole);
      for (let changes = 1 + next(3); changes > 0; changes--) mutate(body, next);
      const reply = await post(body);
      statuses.add(reply.statusCode);
      if (reply.statusCode === 200) continue;
      const shown = `${JSON.stringify(body)} → ${reply.body}`;
      assert.ok(reply.statusCode >= 400 && reply.statusCode < 500, shown);
      const [field = ''] = /^\w+/.exec(reply.json().error.param) ?? [];
      assert.ok(Object.hasOwn(whole, field), shown);
    }
    assert.ok(statuses.has(200) && statuses.has(400));
    assert.equal([serverErrors, engine.running.size], [[], 0]);
  });
}

test.run();
