// Which of two processes does what: texts, templates and grammars never reach the engine before the other has had them.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SplitCore } from '../../../ts/engine/child/split-core.js';
import type { CoreJob, EngineCore, PreparationCore } from '../../../ts/engine/core.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('unit: an engine of two processes');

const METHODS =
  'render tokenize tokenizeTextPrompt tokenizePrompt tokenizeInfill tokenizeInputs tokenizePairs pieces compileGrammar ' +
  'cancelPreparation embed cancelEmbed submit pause cancel stats close';

function split({ generates = true, refuses = '' } = {}) {
  const log: string[] = [];
  const played = (name: string) =>
    Object.fromEntries(
      METHODS.split(' ').map((method) => [
        method,
        async (...args: unknown[]) => {
          log.push(`${name} ${method} ${JSON.stringify(args)}`);
          if (name === 'preparation' && method === refuses) throw new ChasquiError('prepare_timeout', 'too long');
          return `${name}'s`;
        },
      ]),
    );
  const engine = played('engine') as unknown as EngineCore;
  const preparation = played('preparation') as unknown as PreparationCore;
  return { core: new SplitCore(engine, preparation, { contextLength: 77, generates }), log };
}

test('what needs no weights is prepared, and the rest is computed', async () => {
  const { core, log } = split();
  await core.render('{}', 1);
  await core.tokenize('a', true, false, 1);
  await core.tokenizeInfill('a', 'b', 1);
  await core.tokenizeInputs(['a'], 5, 1);
  await core.tokenizePairs('a', ['b'], 5, 1);
  await core.pieces(Int32Array.of(1), 1);
  assert.equal(
    log.splice(0).map((line) => line.split(' ')[0]),
    Array(6).fill('preparation'),
  );
  core.submit({ id: 1 } as CoreJob, null);
  core.pause(1, true);
  core.cancel(1);
  await core.embed(1, new Int32Array(1), new Int32Array(1));
  core.cancelEmbed(1);
  await core.stats();
  await core.close();
  assert.equal(
    log.map((line) => line.split(' ')[0]),
    Array(7).fill('engine'),
  );
});

test('a prompt is tokenized for the context of the engine; one with images by both, the engine last', async () => {
  const { core, log } = split();
  assert.equal(await core.tokenizePrompt('a', [], 3), { tokens: "preparation's" as never, media: null });
  assert.equal(log.splice(0), ['preparation tokenizeTextPrompt ["a",77,3]']);
  assert.is(await core.tokenizePrompt('b', [{ bytes: new Uint8Array() }], 3), "engine's" as never);
  assert.equal(
    log.map((line) => line.split(' ').slice(0, 2).join(' ')),
    ['preparation tokenizeTextPrompt', 'engine tokenizePrompt'],
  );
});

test('a grammar is compiled by both, the engine last', async () => {
  const { core, log } = split();
  assert.is(await core.compileGrammar({} as never, 2, 1), "engine's" as never);
  assert.equal(log, ['preparation compileGrammar [{},2,1]', 'engine compileGrammar [{},2,1]']);
});

test('what cannot be prepared never reaches the engine', async () => {
  const prompt = split({ refuses: 'tokenizeTextPrompt' });
  const image = { bytes: new Uint8Array() };
  assert.is((await prompt.core.tokenizePrompt('a', [image], 1).catch((error) => error)).code, 'prepare_timeout');
  const grammar = split({ refuses: 'compileGrammar' });
  assert.is((await grammar.core.compileGrammar({} as never, 1, 1).catch((error) => error)).code, 'prepare_timeout');
  for (const { log } of [prompt, grammar]) assert.not(log.some((line) => line.startsWith('engine')));
});

test('of a model that generates nothing the engine says so itself', async () => {
  const { core, log } = split({ generates: false });
  await core.tokenizePrompt('a', [], 1);
  assert.equal(log, ['engine tokenizePrompt ["a",[],1]']);
});

test('what is cancelled ends in both processes', () => {
  const { core, log } = split();
  core.cancelPreparation(5);
  assert.equal(log, ['preparation cancelPreparation [5]', 'engine cancelPreparation [5]']);
});

test.run();
