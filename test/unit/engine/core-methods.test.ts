// What a server calls in the process of an engine: jobs with images wait for them, and may be cancelled meanwhile.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type CoreMethods, coreMethods, type WireJob } from '../../../ts/engine/child/core-methods.js';
import type { EngineCore } from '../../../ts/engine/core.js';

const test = suite('unit: calls in the process of an engine');

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function methodsAndLog() {
  const log: string[] = [];
  const reads: ((fails?: Error) => void)[] = [];
  const core = {
    ...Object.fromEntries(
      'render tokenize tokenizeInfill tokenizeInputs tokenizePairs pieces embed cancelEmbed cancelPreparation pause stats'
        .split(' ')
        .map((name) => [name, () => {}]),
    ),
    tokenizePrompt: () =>
      new Promise((resolve, reject) => {
        reads.push((fails) => (fails ? reject(fails) : resolve({ tokens: Int32Array.of(1), media: { pixels: true } })));
      }),
    compileGrammar: async () => ['first', 'second'],
    submit: (job: { id: number; media: unknown }, constraint: unknown) => {
      if (job.id === 13) throw new Error('no such setting');
      log.push(`submit ${job.id}${job.media ? ' with images' : ''}${constraint ? ` and ${constraint}` : ''}`);
    },
    cancel: (id: number) => log.push(`cancel ${id}`),
  } as unknown as EngineCore;
  const methods: CoreMethods = coreMethods(core, (id, thrown) =>
    log.push(`${id} failed: ${(thrown as Error).message}`),
  );
  const submit = (id: number, media: number | null, constraint: number | null = null) =>
    methods.submit?.({ id, media } as WireJob, constraint);
  return { methods, log, reads, submit };
}

/** The number of images whose pixels were let go since. */
async function unreadImages({ methods, reads }: ReturnType<typeof methodsAndLog>): Promise<number> {
  const ids: number[] = [];
  for (let at = 0; at < 9; at += 1) {
    const asked = methods.tokenizePrompt?.('', [{}], 1) as Promise<{ media: number }>;
    reads.at(-1)?.();
    ids.push((await asked).media);
  }
  return ids[0] as number;
}

test('a job without images is submitted at once, and what is wrong with it is told', async () => {
  const { log, submit, methods } = methodsAndLog();
  submit(1, null);
  submit(13, null);
  methods.cancel?.(1);
  assert.equal(log, ['submit 1', 'cancel 1']);
  await turn();
  assert.equal(log.slice(2), ['13 failed: no such setting']);
});

test('each copy of a grammar is used once', async () => {
  const { log, submit, methods } = methodsAndLog();
  const ids = (await methods.compileGrammar?.({}, 2, 1)) as number[];
  for (const [at, id] of ids.entries()) submit(at, null, id);
  submit(2, null, ids[0]);
  await turn();
  assert.equal(log, [
    'submit 0 and first',
    'submit 1 and second',
    `2 failed: There is no object ${ids[0]} in this process.`,
  ]);
});

test('a job is cancelled while its images are read, submitted when they are there, or fails with them', async () => {
  const context = methodsAndLog();
  const { log, submit, methods, reads } = context;
  const media = await unreadImages(context);
  submit(1, media);
  methods.cancel?.(1);
  reads.at(-1)?.();
  await turn();
  assert.equal(log, []);
  submit(2, media);
  await turn();
  assert.equal(log.splice(0), ['submit 2 with images']);
  submit(3, 999);
  await turn();
  assert.equal(log.splice(0), ['3 failed: There are no images 999 in this process.']);
});

test('of a job whose images cannot be read nothing is left: a later one of its number is cancelled in the engine', async () => {
  const context = methodsAndLog();
  const { log, submit, methods, reads } = context;
  submit(1, await unreadImages(context));
  reads.at(-1)?.(new Error('no memory'));
  await turn();
  submit(1, null);
  methods.cancel?.(1);
  assert.equal(log, ['1 failed: no memory', 'submit 1', 'cancel 1']);
});

test.run();
