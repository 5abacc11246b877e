// Streams of events to pages of the dashboard.
import Fastify from 'fastify';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Session } from '../../../ts/cloud/accounts/sessions.js';
import { LiveStreams } from '../../../ts/cloud/dashboard/live-streams.js';

test('a stream ends where nobody can say whether its session is open', async () => {
  const streams = new LiveStreams(() => {
    throw new Error('the database cannot be read');
  });
  let following = false;
  const app = Fastify();
  app.get('/live', (_request, reply) => {
    streams.open(reply, { id: 'session' } as Session, () => {
      following = true;
      return () => {
        following = false;
      };
    });
  });
  try {
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const response = await fetch(`${url}/live`);
    assert.ok(following);
    assert.is(await response.text(), 'retry: 2000\n\n');
    assert.not.ok(following);
  } finally {
    streams.close();
    await app.close();
  }
});

test.run();
