// The grammars of custom tools bind whatever a model would write: the demo model, and one of random weights.
import type { FastifyInstance } from 'fastify';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildApp } from '../../ts/http/app.js';
import { loadModel, type Model } from '../../ts/index.js';
import { SingleModel } from '../../ts/models/single-model.js';
import { runtime } from '../../ts/profiles/runtime.js';
import { faultOfCutPatch, faultOfPatch, PATCH_GRAMMAR, SHORT_PATCH_GRAMMAR } from '../support/codex-patch.js';
import { demoModelPath } from '../support/demo-model.js';
import { tinyModel } from '../support/tiny-model.js';

const RUNS = 4;

interface Context {
  engine: Model;
  app: FastifyInstance;
}

interface Case {
  syntax: string;
  definition: string;
  /** What is wrong with a text; it may have been cut off where it goes on as long as the model likes. */
  faultOf: (text: string, isCut: boolean) => string | null;
  mayBeCut?: boolean;
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
    context.app = buildApp(SingleModel.of(context.engine), runtime);
  });
  test.after(async ({ app, engine }) => {
    await app.close();
    await engine.close();
  });

  for (const [what, { syntax, definition, faultOf, mayBeCut = false }] of Object.entries(CASES)) {
    test(`${what}: ${RUNS} of ${RUNS} seeds at temperature 1`, async ({ app, engine }) => {
      const texts = new Set<string>();
      const run = async (seed: number): Promise<void> => {
        const payload = {
          model: engine.model.id,
          input: 'Write something.',
          tools: [{ type: 'custom', name: 'write', format: { type: 'grammar', syntax, definition } }],
          tool_choice: 'required',
          parallel_tool_calls: false,
          max_output_tokens: 400,
          temperature: 1,
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

  test.run();
}

testWith('demo model', () => demoModelPath);
testWith('random weights', () => tinyModel('llama'));
