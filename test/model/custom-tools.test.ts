// The grammars of custom tools bind whatever a model would write: the demo model, and one of random weights.
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/api/app.js';
import { loadModel, type Model } from '../../ts/index.js';
import { ManagedPool } from '../../ts/models/managed-pool.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { faultOfCutPatch, faultOfPatch, PATCH_GRAMMAR, SHORT_PATCH_GRAMMAR } from '../support/codex-patch.js';
import { demoModelPath } from '../support/demo-model.js';
import { root } from '../support/places.js';
import { readSse } from '../support/read-sse.js';
import { tinyModel } from '../support/tiny-model.js';

const RUNS = 4;

interface Context {
  engine: Model;
  app: FastifyInstance;
}

interface Case {
  syntax: string;
  definition: string;
  /** The error of a text, or null. Endless texts may be cut off. */
  faultOf: (text: string, isCut: boolean) => string | null;
  mayBeCut?: boolean;
  temperature?: number;
}

const matches = (expression: RegExp) => (text: string) => (expression.test(text) ? null : 'no match');

/** Whether brackets are closed in their order, or may be still, and nothing else is there. */
function faultOfBrackets(text: string, isCut: boolean): string | null {
  let rest = text;
  while (/\(\)|\[\]/.test(rest)) rest = rest.replace(/\(\)|\[\]/g, '');
  return (isCut ? /^[([]*$/.test(rest) : rest === '' && text !== '') ? null : `left: ${rest}`;
}

const CASES: Record<string, Case> = {
  'patches of Codex': {
    syntax: 'lark',
    definition: PATCH_GRAMMAR,
    faultOf: (text, isCut) => (isCut ? faultOfCutPatch(text) : faultOfPatch(text)),
    mayBeCut: true,
  },
  'short patches': { syntax: 'lark', definition: SHORT_PATCH_GRAMMAR, faultOf: faultOfPatch },
  'brackets within brackets': {
    syntax: 'lark',
    definition: 'start: round~1..2\nround: "(" square? ")"\nsquare: "[" [round round?] "]"',
    faultOf: faultOfBrackets,
    mayBeCut: true,
    // At 1, the demo model nearly always writes ().
    temperature: 2,
  },
  'lists that begin with themselves, of what may be empty': {
    syntax: 'lark',
    definition: 'start: list "."\nlist: item | list "," item\nitem: ("a"? "b"?)*',
    faultOf: (text, isCut) => matches(isCut ? /^[ab,]*$/ : /^[ab]*(?:,[ab]*)*\.$/)(text),
    mayBeCut: true,
  },
  'quotes, backslashes and control characters': {
    syntax: 'regex',
    definition: '^[^a-z]{3}["\\\\]{2,3}[\\x00-\\x1f]{2}.{0,4}$',
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is asked for
    faultOf: matches(/^[^a-z]{3}["\\]{2,3}[\x00-\x1f]{2}[^\n]{0,4}$/u),
  },
};

function testWith(name: string, path: () => string): void {
  const test = suite<Context>(`grammars of custom tools, ${name}`);

  test.before(async (context) => {
    context.engine = await loadModel(path(), { contextSize: 4096, parallel: 2, threads: 1 });
    context.app = buildApp(ManagedPool.of(context.engine), runtime);
  });
  test.after(async ({ app, engine }) => {
    await app.close();
    await engine.close();
  });

  for (const [what, { syntax, definition, faultOf, mayBeCut = false, temperature = 1 }] of Object.entries(CASES)) {
    test(`${what}: ${RUNS} of ${RUNS} seeds at temperature ${temperature}`, async ({ app, engine }) => {
      const texts = new Set<string>();
      const run = async (seed: number): Promise<void> => {
        const payload = {
          model: engine.model.id,
          input: 'Write something.',
          tools: [{ type: 'custom', name: 'write', format: { type: 'grammar', syntax, definition } }],
          tool_choice: 'required',
          parallel_tool_calls: false,
          max_output_tokens: 400,
          temperature,
          seed,
        };
        const reply = await app.inject({ method: 'POST', url: '/v1/responses', payload });
        assert.is(reply.statusCode, 200, reply.body);
        assert.is(reply.headers['x-chasqui-ignored'], undefined);
        const { status, output } = reply.json();
        const [{ type, input }] = output;
        assert.is(type, 'custom_tool_call');
        if (!mayBeCut) assert.is(status, 'completed', input);
        assert.is(faultOf(input, status === 'incomplete'), null, JSON.stringify(input));
        texts.add(input);
      };
      await Promise.all(Array.from({ length: RUNS }, (_, seed) => run(seed)));
      assert.ok(texts.size > 1, [...texts].join());
    });
  }

  test('chats hold the model to them as well, whole and streamed', async ({ app, engine }) => {
    const format = { type: 'grammar', grammar: { syntax: 'regex', definition: '[0-9]{3}(-[a-f]{2}){1,3}' } };
    const payload = {
      model: engine.model.id,
      messages: [{ role: 'user', content: 'Write something.' }],
      tools: [{ type: 'custom', custom: { name: 'write', format } }],
      tool_choice: { type: 'custom', custom: { name: 'write' } },
      max_tokens: 200,
      seed: 1,
    };
    const post = (body: object) => app.inject({ method: 'POST', url: '/v1/chat/completions', payload: body });
    const [call] = (await post(payload)).json().choices[0].message.tool_calls;
    assert.is(call.type, 'custom');
    assert.match(call.custom.input, /^[0-9]{3}(-[a-f]{2}){1,3}$/);
    const { events } = readSse((await post({ ...payload, stream: true })).body);
    const deltas = events.flatMap(({ choices }) => choices[0].delta.tool_calls ?? []);
    assert.is(deltas.map(({ custom }) => custom.input).join(''), call.custom.input);
  });

  test.run();
}

const tagged = suite('grammars of custom tools, calls without JSON');

tagged('they are named as passed over, and the call is made all the same', async () => {
  const chatTemplateFile = path.join(root, 'vendor', 'llama.cpp', 'models', 'templates', 'Qwen3-Coder.jinja');
  const engine = await loadModel(demoModelPath, { contextSize: 2048, parallel: 1, threads: 1, chatTemplateFile });
  const app = buildApp(ManagedPool.of(engine), runtime);
  const format = { type: 'grammar', syntax: 'regex', definition: '[0-9]{3}' };
  const payload = {
    model: engine.model.id,
    input: 'Write something.',
    tools: [{ type: 'custom', name: 'write', format }],
    tool_choice: 'required',
    max_output_tokens: 200,
    seed: 1,
  };
  const reply = await app.inject({ method: 'POST', url: '/v1/responses', payload });
  assert.is(reply.statusCode, 200, reply.body);
  assert.is(decodeURIComponent(String(reply.headers['x-chasqui-ignored'])), 'tools[0].format');
  const [{ type, name }] = reply.json().output;
  assert.equal([type, name], ['custom_tool_call', 'write']);
  const strict = buildApp(ManagedPool.of(engine), runtime, { strict: true });
  const refused = await strict.inject({ method: 'POST', url: '/v1/responses', payload });
  assert.equal([refused.statusCode, refused.json().error.param], [400, 'tools[0].format']);
  await strict.close();
  await app.close();
  await engine.close();
});

tagged.run();

const hostile = suite('grammars of custom tools, made to cost');

const chained = (count: number, rule: (n: number) => string): string =>
  `start: a0\n${Array.from({ length: count }, (_, n) => `a${n}: ${rule(n + 1)}`).join('\n')}\na${count}: "x"`;

const HOSTILE = {
  'rules that double the text': chained(60, (n) => `a${n} a${n}`),
  'a chain of rules': chained(900, (n) => `a${n}`),
  'rules that may all be empty': chained(900, (n) => `a${n}? "y"?`),
  'repetitions of repetitions': `start: (${'('.repeat(9)}"a"~2000${')~2000'.repeat(9)})*`,
  classes: `start: ${'/[^a]/ '.repeat(4000)}`,
  'ways that cannot be told apart': 'start: "a"? start "b"? | "c"? start? "d"\n',
  'brackets that cannot be told apart': 'start: "x" start start "y" | "x" start "y" start | "x"',
};

hostile('they are begun or refused, and the next request is served', async () => {
  const engine = await loadModel(demoModelPath, { contextSize: 2048, parallel: 1, threads: 1 });
  const app = buildApp(ManagedPool.of(engine), runtime);
  const respond = (definition: string) => {
    const tools = [{ type: 'custom', name: 'write', format: { type: 'grammar', syntax: 'lark', definition } }];
    const payload = {
      model: engine.model.id,
      input: 'Go.',
      tools,
      tool_choice: 'required',
      temperature: 0,
      max_output_tokens: 60,
    };
    return app.inject({ method: 'POST', url: '/v1/responses', payload });
  };
  for (const [name, definition] of Object.entries(HOSTILE)) {
    const { statusCode, body } = await respond(definition);
    assert.ok([200, 400].includes(statusCode), `${name}: ${body}`);
    const next = await respond('start: "done"');
    assert.is(next.json().output[0].input, 'done', name);
  }
  await app.close();
  await engine.close();
});

hostile.run();

testWith('demo model', () => demoModelPath);
testWith('random weights', () => tinyModel('llama'));
