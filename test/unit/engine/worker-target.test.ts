// Calls in the worker process: jobs with images wait for them, and may be cancelled meanwhile.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallArgs } from '../../../ts/engine/calls.js';
import { type WireJob, WorkerTarget } from '../../../ts/engine/child/worker-target.js';

const test = suite('unit: calls in the worker process');

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function workerAndLog() {
  const log: string[] = [];
  const reads: ((fails?: Error) => void)[] = [];
  const core = {
    run: async (method: string) =>
      method === 'compileGrammar'
        ? ['first', 'second']
        : new Promise((resolve, reject) => {
            const prompt = { tokens: Int32Array.of(1), media: { pixels: true } };
            reads.push((fails) => (fails ? reject(fails) : resolve(prompt)));
          }),
    submit: (job: { id: number; media: unknown }, constraint: unknown) => {
      if (job.id === 13) throw new Error('no such setting');
      log.push(`submit ${job.id}${job.media ? ' with images' : ''}${constraint ? ` and ${constraint}` : ''}`);
    },
    cancel: (id: number) => log.push(`cancel ${id}`),
  } as unknown as ConstructorParameters<typeof WorkerTarget>[0];
  const target = new WorkerTarget(core, (id, thrown) => log.push(`${id} failed: ${(thrown as Error).message}`));
  const submit = (id: number, media: number | null, constraint: number | null = null) =>
    void target.submit({ id, media } as WireJob, constraint);
  return { target, log, reads, submit };
}

/** Number of images that have been released since. */
async function unreadImages({ target, reads }: ReturnType<typeof workerAndLog>): Promise<number> {
  const ids: number[] = [];
  for (let at = 0; at < 9; at += 1) {
    const args = ['', [{}]] as unknown as CallArgs<'tokenizePrompt'>;
    const asked = target.run('tokenizePrompt', args, 1) as Promise<{ media: number }>;
    await turn();
    reads.at(-1)?.();
    ids.push((await asked).media);
  }
  return ids[0] as number;
}

test('a job without images is submitted at once, and what is wrong with it is told', async () => {
  const { log, submit, target } = workerAndLog();
  submit(1, null);
  submit(13, null);
  target.cancel(1);
  assert.equal(log, ['submit 1', '13 failed: no such setting', 'cancel 1']);
});

test('each copy of a grammar is used once', async () => {
  const { log, submit, target } = workerAndLog();
  const ids = (await target.run('compileGrammar', [{} as never, 2], 1)) as number[];
  for (const [at, id] of ids.entries()) submit(at, null, id);
  submit(2, null, ids[0]);
  await turn();
  assert.equal(log, [
    'submit 0 and first',
    'submit 1 and second',
    `2 failed: There is no constraint ${ids[0]} in this process.`,
  ]);
});

test('a job is cancelled while its images are read, submitted when they are there, or fails with them', async () => {
  const context = workerAndLog();
  const { log, submit, target, reads } = context;
  const media = await unreadImages(context);
  submit(1, media);
  target.cancel(1);
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

test('a job with unreadable images leaves nothing: a later job of the same id can be cancelled', async () => {
  const context = workerAndLog();
  const { log, submit, target, reads } = context;
  submit(1, await unreadImages(context));
  reads.at(-1)?.(new Error('no memory'));
  await turn();
  submit(1, null);
  target.cancel(1);
  assert.equal(log, ['1 failed: no memory', 'submit 1', 'cancel 1']);
});

test.run();
