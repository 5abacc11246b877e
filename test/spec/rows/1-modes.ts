/** Section 1: what the service does, and its hosting modes. */
import net from 'node:net';
import * as assert from 'uvu/assert';
import { startChild } from '../../support/child.js';
import { demoModelPath } from '../../support/demo-model.js';
import { DEPLOYMENT, MODEL } from '../../support/modes.js';
import { readJson } from '../../support/read-json.js';
import { startServer } from '../../support/start-server.js';
import { until } from '../../support/until.js';
import { ALL, LOCAL, type Row, RUNTIME } from '../row.js';

export const modeRows: Row[] = [
  {
    row: '1.1',
    says: 'lists its models and completes a conversation',
    modes: ALL,
    check: async (mode) => {
      assert.is((await readJson(await mode.get('/v1/models'))).data.length, 1);
      const messages = [
        { role: 'system', content: 'You are a helpful assistant.' },
        { role: 'user', content: 'Hello!' },
        { role: 'assistant', content: 'Hello! How can I help you?' },
        { role: 'user', content: 'Count from 3 to 9' },
      ];
      assert.ok((await mode.answer({ messages })).length > 0);
    },
  },
  {
    row: '1.2',
    says: 'a completion comes whole or as chunks',
    modes: ALL,
    check: async (mode) => {
      assert.is(await mode.answer(), '3, 4, 5, 6, 7, 8, 9');
      assert.ok((await mode.stream()).events.length > 2);
    },
  },
  {
    row: '1.3',
    says: 'some models take images alongside text',
    modes: ALL,
    check: async (mode) => {
      const { data } = await readJson(await mode.get('/v1/models'));
      assert.equal(data[0].input_modalities, ['text', 'image']);
    },
  },
  {
    row: '1.4',
    says: 'sampling parameters, stop strings and the token cap steer the generation',
    modes: ALL,
    check: async (mode) => {
      assert.is(await mode.answer({ stop: ', 6' }), '3, 4, 5');
      assert.is((await readJson(await mode.chat({ max_tokens: 2 }))).usage.completion_tokens, 2);
      const hot = { temperature: 5, top_k: 0 };
      const answers = await Promise.all([1, 2, 3, 4].map((seed) => mode.answer({ ...hot, seed, max_tokens: 8 })));
      assert.ok(new Set(answers).size > 1, 'four hot answers are the same');
      assert.is(await mode.answer({ temperature: 5, top_k: 1 }), '3, 4, 5, 6, 7, 8, 9');
    },
  },
  {
    row: '1.5 base address',
    says: 'http://localhost:<port>',
    modes: LOCAL,
    check: async (mode) => {
      assert.is(new URL(mode.baseUrl).pathname, '/');
      const port = new URL(mode.baseUrl).port;
      assert.is((await fetch(`http://localhost:${port}/v1/models`)).status, 200);
    },
  },
  {
    row: '1.5 base address',
    says: 'the default port is 1234',
    modes: ['desktop'],
    check: async (mode) => {
      assert.is(mode.profile.port, 1234);
      // Another program may use the port, and may start or stop doing so at any time.
      const child = startChild('ts/cli.ts', ['serve', '--mode', 'desktop']);
      const inUse = /^chasqui: port 1234 at 127\.0\.0\.1 is (in use|used by)/;
      const serving = /^Serving .* at http:\/\/127\.0\.0\.1:1234\/v1$/m;
      const isSaid = () => inUse.test(child.output.stderr) || serving.test(child.output.stdout);
      try {
        await until(isSaid, 'the port in the output');
      } finally {
        child.process.kill('SIGTERM');
        await child.exited;
      }
    },
  },
  {
    row: '1.5 base address',
    says: '<cloud_host>/<org_id>/<app_id>, one base per app',
    modes: ['serverless'],
    check: async (mode) => {
      const { pathname, origin } = new URL(mode.baseUrl);
      assert.is(pathname, `/${DEPLOYMENT.org}/${DEPLOYMENT.app}`);
      for (const other of ['', `/${DEPLOYMENT.org}/other`, `/other/${DEPLOYMENT.app}`]) {
        assert.is((await fetch(`${origin}${other}/v1/models`, { headers: mode.authorization })).status, 404);
      }
    },
  },
  {
    row: '1.5 model name',
    says: 'the identifier of the model that is served',
    modes: RUNTIME,
    check: async (mode) => {
      assert.is((await mode.chat({ model: MODEL })).status, 200);
      const reply = await mode.chat({ model: 'other' });
      assert.is(reply.status, 404);
      const { error } = await readJson(reply);
      assert.equal([error.code, error.param], ['model_not_found', 'model']);
    },
  },
  {
    row: '1.5 model name',
    says: 'any string is accepted',
    modes: ['desktop'],
    check: async (mode) => {
      for (const model of ['other', '', 'org/name:tag', MODEL]) {
        const reply = await mode.chat({ model, max_tokens: 1 });
        assert.is(reply.status, 200);
        assert.is((await readJson(reply)).model, MODEL, 'the reply names the model that answered');
      }
    },
  },
  {
    row: '1.6 runtime server',
    says: 'is started by a command with a model option and a port option',
    modes: ['runtime'],
    check: async () => {
      const probe = net.createServer();
      await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
      const { port } = probe.address() as net.AddressInfo;
      await new Promise((resolve) => probe.close(resolve));
      const server = await startServer(['--model', demoModelPath, '--port', String(port), '--threads', '1']);
      try {
        assert.is(new URL(server.url).port, String(port));
      } finally {
        await server.stop();
      }
    },
  },
];
