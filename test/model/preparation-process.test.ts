// A process with nothing but the vocabulary prepares what the engine itself would have prepared, errors included.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChatMessage, Engine, RenderOptions } from '../../ts/engine/engine.js';
import { completeJob, grammarOf } from '../../ts/engine/job.js';
import { loadModel } from '../../ts/index.js';
import { demoModelPath } from '../support/demo-model.js';

const OPTIONS = { contextSize: 512, parallel: 1, threads: 1 };

interface Context {
  /** With everything in this process, and in processes of their own. */
  engines: Engine[];
}

const test = suite<Context>('model: what prepares requests in a process of its own');

test.before(async (context) => {
  context.engines = await Promise.all([
    loadModel(demoModelPath, OPTIONS),
    loadModel(demoModelPath, { ...OPTIONS, process: true }),
  ]);
});
test.after(async ({ engines }) => {
  for (const engine of engines) await engine.close();
});

/** Asks both engines, asserts equal results, and returns one. */
async function same<T>({ engines }: Context, ask: (engine: Engine) => Promise<T>): Promise<T> {
  const [own, other] = await Promise.all(engines.map(ask));
  assert.equal(other, own);
  return own as T;
}

async function failure(promise: Promise<unknown>): Promise<object> {
  return promise.then(
    () => ({ code: 'none' }),
    ({ code, message, param, promptTokens, contextLength }) => ({ code, message, param, promptTokens, contextLength }),
  );
}

const messages: ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Count from 3 to 9. 🦙 <|im_end|>' },
];
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ name: 'weather', description: 'Tells the weather.', parameters }];

const RENDERED: Record<string, RenderOptions> = {
  'a conversation': {},
  'one with tools': { tools },
  'one in which a tool must be called': { tools, toolChoice: 'required' },
  'one with a schema': { jsonSchema: parameters },
};

for (const [what, options] of Object.entries(RENDERED)) {
  test(`${what} is rendered alike`, async (context) => {
    const { prompt, format } = await same(context, async (engine) => {
      const rendered = await engine.render(messages, options);
      // Each time another name is drawn for them.
      return JSON.parse(JSON.stringify(rendered)) as typeof rendered;
    });
    assert.match(prompt, /Count from 3 to 9/);
    // A schema leaves no place for reasoning or calls.
    assert.is(format !== null, !('jsonSchema' in options));
    await same(context, (engine) => engine.countTokens({ prompt, images: [] }));
  });
}

test('texts become the same tokens, and tokens the same bytes', async (context) => {
  for (const text of ['Hello', '', ' a\n\n b', '🦙'.repeat(50), '<|im_start|>user']) {
    for (const special of [true, false]) {
      const options = { addSpecial: special, parseSpecial: special };
      const tokens = await same(context, (engine) => engine.tokenize(text, options));
      await same(context, async (engine) => Buffer.concat(await engine.pieces([...tokens])).toString('hex'));
    }
  }
});

test('prompts of tokens and prompts of text share prefixes', async (context) => {
  const job = { maxTokens: 8, temperature: 0, grammar: grammarOf('root ::= [a-z ]+') };
  const text = await same(context, async (engine) => {
    let written = '';
    for await (const token of engine.submit(completeJob({ ...job, prompt: 'Count from 3 to 9.' })))
      written += token.text;
    return written;
  });
  assert.match(text, /^[a-z ]+$/);
});

test('both processes report failed preparations with the same message', async (context) => {
  const long = 'word '.repeat(5000);
  const first = (engine: Engine, options: object) =>
    failure(engine.submit(completeJob({ prompt: 'Hi', ...options })).next());
  const tooLong = (await same(context, (engine) => first(engine, { prompt: long }))) as { code: string };
  assert.is(tooLong.code, 'context_length_exceeded');
  const bytes = 'x'.repeat(2 ** 20);
  await same(context, (engine) => first(engine, { prompt: bytes }));
  const grammar = (await same(context, (engine) =>
    first(engine, { grammar: grammarOf('root ::= (') }),
  )) as typeof tooLong;
  assert.is(grammar.code, 'invalid_grammar');
  await same(context, (engine) => failure(engine.pieces([10 ** 6])));
  await same(context, (engine) => failure(engine.tokenizeInfill('a', 'b')));
  await same(context, (engine) => failure(engine.render(messages, { jsonSchema: { $ref: '#/nowhere' } })));
  await same(context, (engine) => failure(engine.rank('a', ['b'])));
});

test('a template and metadata in place of those in the file hold for it, too', async () => {
  const options = { ...OPTIONS, process: true as const };
  const chatTemplate = 'Say {{ messages[0].content }} twice.';
  const plain = await loadModel(demoModelPath, { ...options, overrideKv: ['tokenizer.ggml.add_bos_token=bool:false'] });
  const changed = await loadModel(demoModelPath, {
    ...options,
    chatTemplate,
    overrideKv: ['tokenizer.ggml.add_bos_token=bool:true'],
  });
  try {
    assert.is((await changed.render([{ role: 'user', content: 'hi' }])).prompt, 'Say hi twice.');
    const [without, having] = await Promise.all(
      [plain, changed].map(async (engine) => (await engine.tokenize('hi', { addSpecial: true })).length),
    );
    assert.is(having, (without as number) + 1);
  } finally {
    await Promise.all([plain.close(), changed.close()]);
  }
});

test.run();
