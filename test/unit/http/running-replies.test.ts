import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import process from 'node:process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RunningReplies } from '../../../ts/http/running-replies.js';

const test = suite('unit: running replies');

interface FakeResponse extends EventEmitter {
  destroyed: boolean;
  writableEnded: boolean;
  headersSent: boolean;
  headers: Record<string, string>;
}

function respond(replies: RunningReplies, state: Partial<FakeResponse> = {}): [FakeResponse, AbortSignal] {
  const headers: Record<string, string> = {};
  const response = Object.assign(new EventEmitter(), {
    destroyed: false,
    writableEnded: false,
    headersSent: false,
    headers,
    setHeader: (name: string, value: string) => void Object.assign(headers, { [name]: value }),
    ...state,
  });
  return [response, replies.signalFor(response as unknown as ServerResponse)];
}

const codeOf = (signal: AbortSignal): string | null => (signal.aborted ? signal.reason.code : null);

test('a reply that ended is not aborted when its connection closes', () => {
  const [response, signal] = respond(new RunningReplies());
  response.writableEnded = true;
  response.emit('close');
  assert.is(codeOf(signal), null);
});

test('a reply whose client goes away is aborted', () => {
  const [response, signal] = respond(new RunningReplies());
  assert.is(codeOf(signal), null);
  response.emit('close');
  assert.is(codeOf(signal), 'client_closed_request');
});

test('many answers of one request may listen without a warning', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  const [, signal] = respond(new RunningReplies());
  for (let i = 0; i < 20; i++) signal.addEventListener('abort', () => i);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', note);
  assert.equal(warnings, []);
});

test('a client may be gone before the reply begins: that close event is past', async () => {
  const replies = new RunningReplies();
  const [, signal] = respond(replies, { destroyed: true });
  assert.is(codeOf(signal), 'client_closed_request');
  await replies.drain(60_000);
});

test('draining waits for the last reply', async () => {
  const replies = new RunningReplies();
  const [one, signal] = respond(replies);
  const [two] = respond(replies);
  let drained = false;
  const draining = replies.drain(60_000).then(() => {
    drained = true;
  });
  assert.ok(replies.stopping.aborted);
  for (const response of [one, two]) {
    await new Promise((resolve) => setImmediate(resolve));
    assert.not.ok(drained);
    response.writableEnded = true;
    response.emit('close');
  }
  await draining;
  assert.is(codeOf(signal), null);
});

test('replies that have not begun say that their connections end, from when draining begins', async () => {
  const replies = new RunningReplies();
  const [before] = respond(replies);
  const [begun] = respond(replies, { headersSent: true });
  assert.equal(before.headers, {});
  const draining = replies.drain(60_000);
  const [after] = respond(replies);
  assert.equal([before.headers, begun.headers, after.headers], [{ connection: 'close' }, {}, { connection: 'close' }]);
  for (const response of [before, begun, after]) response.emit('close');
  await draining;
});

test('replies that outlast the drain time are aborted, as are later ones', async () => {
  const replies = new RunningReplies();
  const [response, signal] = respond(replies);
  signal.addEventListener('abort', () => response.emit('close'));
  await replies.drain(0);
  assert.is(codeOf(signal), 'engine_closed');
  assert.is(codeOf(respond(replies)[1]), 'engine_closed');
});

test.run();
