import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CHAT_PATH, testApp } from '../support/build-app.js';
import { expectError } from '../support/expect-error.js';

const test = suite('http: adapters in requests');

const ADAPTERS = [
  { name: 'sql', scale: 0.5 },
  { name: 'poems', scale: 1 },
];
const MESSAGES = { messages: [{ role: 'user', content: 'Hi' }] };
const BODIES: [url: string, body: object][] = [
  [CHAT_PATH, MESSAGES],
  ['/v1/completions', { prompt: 'Hi' }],
  ['/v1/responses', { input: 'Hi' }],
  ['/v1/messages', { max_tokens: 5, ...MESSAGES }],
];

test('`lora` has the places or names of adapters, and their scales', async () => {
  const { send, engine } = testApp({ model: { adapters: ADAPTERS } });
  const lora = [{ id: 1, scale: 0.25 }, { id: 'sql' }];
  for (const [url, body] of BODIES) {
    const reply = await send(url, { model: 'fake', ...body, lora });
    assert.is(reply.statusCode, 200, reply.body);
    assert.equal(engine.jobs.at(-1)?.adapters, [
      { adapter: 1, scale: 0.25 },
      { adapter: 0, scale: 0.5 },
    ]);
    await send(url, { model: 'fake', ...body });
    assert.is(engine.jobs.at(-1)?.adapters, null);
    await send(url, { model: 'fake', ...body, lora: [] });
    assert.equal(engine.jobs.at(-1)?.adapters, []);
  }
});

test('unknown adapters are refused with their index', async () => {
  const { chat } = testApp({ model: { adapters: ADAPTERS } });
  const wrong: [unknown, string, string][] = [
    ['sql', 'invalid_type', 'lora'],
    [[{ scale: 1 }], 'missing_required_parameter', 'lora[0].id'],
    [[{ id: 'other' }], 'invalid_value', 'lora[0].id'],
    [[{ id: 0 }, { id: 2 }], 'invalid_value', 'lora[1].id'],
    [[{ id: -1 }], 'invalid_value', 'lora[0].id'],
    [[{ id: 0 }, { id: 'sql' }], 'invalid_value', 'lora[1].id'],
    [[{ id: 0, scale: 101 }], 'invalid_value', 'lora[0].scale'],
    [[{ id: 0, scale: 'much' }], 'invalid_type', 'lora[0].scale'],
    [Array(65).fill({ id: 0 }), 'invalid_value', 'lora'],
  ];
  for (const [lora, code, param] of wrong) expectError(await chat({ lora }), { status: 400, code, param });
  const { chat: chatWithout } = testApp();
  expectError(await chatWithout({ lora: [{ id: 0 }] }), {
    status: 400,
    code: 'invalid_value',
    param: 'lora[0].id',
    says: /without adapters/,
  });
});

test.run();
