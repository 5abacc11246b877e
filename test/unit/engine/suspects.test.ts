// Requests that are refused after engine crashes, and the order of retries.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Attempt, Suspects } from '../../../ts/engine/child/suspects.js';
import { ChasquiError } from '../../../ts/errors.js';

const test = suite('unit: requests that were there when an engine ended');

const HOUR_MS = 60 * 60_000;

/** A request that waits for the process. */
function begin(suspects: Suspects, request: unknown): Attempt<unknown> {
  const attempt = new Attempt(request, suspects, () => new Promise(() => {}), false);
  suspects.refuse(attempt);
  void attempt.start();
  return attempt;
}

function entered(suspects: Suspects, request: unknown): Attempt<unknown> {
  const attempt = begin(suspects, request);
  suspects.running.add(attempt);
  return attempt;
}

/** As in an engine that ends while it computes these. */
function endWith(suspects: Suspects, ...requests: readonly unknown[]): void {
  const running = requests.map((request) => entered(suspects, request));
  suspects.ended('it was ended by SIGSEGV');
  for (const suspect of running) suspect.end(false);
}

function isRefused(suspects: Suspects, request: unknown): boolean {
  try {
    begin(suspects, request).end(false);
    return false;
  } catch (error) {
    assert.instance(error, ChasquiError);
    assert.is((error as ChasquiError).code, 'prompt_refused');
    return true;
  }
}

async function isOpen(trial: Promise<void>): Promise<boolean> {
  return Promise.race([trial.then(() => true), new Promise<false>((resolve) => setImmediate(resolve, false))]);
}

test('a request running at two crashes is refused, at one it is not', () => {
  const suspects = new Suspects('The engine');
  endWith(suspects, 'bad', 'other');
  assert.not(isRefused(suspects, 'bad'));
  endWith(suspects, 'bad');
  assert.ok(isRefused(suspects, 'bad'));
  assert.not(isRefused(suspects, 'other'));
  assert.not(isRefused(suspects, 'new'));
});

test('equal requests that are there at one end, such as the choices of one, count once', () => {
  const suspects = new Suspects('The engine');
  endWith(suspects, { prompt: 'Hi', images: [] }, { prompt: 'Hi', images: [] });
  assert.not(isRefused(suspects, { prompt: 'Hi', images: [] }));
});

test('waiting and finished requests are not suspected of a crash', () => {
  const suspects = new Suspects('The engine');
  for (let end = 0; end < 3; end += 1) {
    const waiting = begin(suspects, 'waits');
    const left = entered(suspects, 'left');
    left.end(false);
    entered(suspects, 'done').end(true);
    suspects.ended('it was ended by SIGSEGV');
    waiting.end(false);
  }
  for (const request of ['waits', 'left', 'done']) assert.not(isRefused(suspects, request), request);
});

test('completed requests are acquitted, others are not', () => {
  const suspects = new Suspects('The engine');
  endWith(suspects, 'good', 'bad');
  entered(suspects, 'good').end(true);
  entered(suspects, 'bad').end(false);
  endWith(suspects, 'good', 'bad');
  assert.not(isRefused(suspects, 'good'));
  assert.ok(isRefused(suspects, 'bad'));
});

test('an hour after its last end a request is as any other', () => {
  let now = 0;
  const suspects = new Suspects('The engine', () => now);
  endWith(suspects, 'bad');
  now += HOUR_MS;
  endWith(suspects, 'bad');
  assert.not(isRefused(suspects, 'bad'), 'ends more than an hour apart do not add up');
  endWith(suspects, 'bad');
  assert.ok(isRefused(suspects, 'bad'));
  now += HOUR_MS;
  assert.not(isRefused(suspects, 'bad'));
});

test('requests are told apart by all that they hold: text, tokens, grammars and the bytes of pictures', () => {
  const suspects = new Suspects('The engine');
  const picture = (byte: number) => [{ bytes: Buffer.alloc(100, byte) }];
  const requests = [
    { prompt: 'a', images: [], grammar: null },
    { prompt: 'a', images: [], grammar: { text: 'root ::= "a"' } },
    { prompt: [1, 2], images: [], grammar: null },
    { prompt: [1, 3], images: [], grammar: null },
    { prompt: 'a', images: picture(1), grammar: null },
    { prompt: 'a', images: picture(2), grammar: null },
    ['a', [{ type: 'image', image: { bytes: new Uint8Array(3) } }]],
    ['a', [{ type: 'image', image: { bytes: new Uint8Array(4) } }]],
  ];
  for (const request of requests) {
    assert.not(isRefused(suspects, request), JSON.stringify(request));
    endWith(suspects, request);
    endWith(suspects, structuredClone(request));
  }
  for (const request of requests) assert.ok(isRefused(suspects, request), JSON.stringify(request));
});

test('the same bytes in a Buffer and in an array are the same picture', () => {
  const suspects = new Suspects('The engine');
  endWith(suspects, { images: [{ bytes: Buffer.from([1, 2, 3]) }] });
  endWith(suspects, { images: [{ bytes: Uint8Array.of(1, 2, 3) }] });
  assert.ok(isRefused(suspects, { images: [{ bytes: Buffer.from([1, 2, 3]) }] }));
});

test('only the latest suspects are remembered', () => {
  const suspects = new Suspects('The engine');
  const many = Array.from({ length: 2000 }, (_, at) => `request ${at}`);
  endWith(suspects, ...many);
  endWith(suspects, 'request 0');
  endWith(suspects, 'request 1999');
  assert.not(isRefused(suspects, 'request 0'));
  assert.ok(isRefused(suspects, 'request 1999'));
});

test('one is on trial at a time, until it has passed or ended, wherever it waits itself', async () => {
  const suspects = new Suspects('The engine');
  const [first, second, third, fourth] = ['1', '2', '3', '4'].map((name) => begin(suspects, name)) as [
    Attempt<unknown>,
    Attempt<unknown>,
    Attempt<unknown>,
    Attempt<unknown>,
  ];
  const trials = [first, second, third, fourth].map((suspect) => suspects.trial(suspect)) as [
    Promise<void>,
    Promise<void>,
    Promise<void>,
    Promise<void>,
  ];
  const open = () => Promise.all(trials.map(isOpen));
  assert.equal(await open(), [true, false, false, false]);
  // The reader of the third request leaves while it waits, so no request waits for it later.
  third.end(false);
  assert.equal(await open(), [true, false, false, false]);
  first.setHarmless();
  assert.equal(await open(), [true, true, false, false]);
  second.end(false);
  assert.equal(await open(), [true, true, true, true]);
  fourth.end(true);
  assert.ok(await isOpen(suspects.trial(begin(suspects, '5'))));
});

test.run();
