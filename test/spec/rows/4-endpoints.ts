/** Section 4: the endpoints, and the rules below their table. */
import * as assert from 'uvu/assert';
import { pictureUri } from '../../support/image-files.js';
import { DEPLOYMENT, MODEL } from '../../support/modes.js';
import { readJson } from '../../support/read-json.js';
import { ALL, LOCAL, type Row } from '../row.js';

const TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'json', ''];

export const endpointRows: Row[] = [
  {
    row: '4 GET /v1/models',
    says: 'no body; lists the models, with Authorization where it is required',
    modes: ALL,
    check: async (mode) => {
      const reply = await mode.get('/v1/models');
      assert.is(reply.status, 200);
      assert.match(String(reply.headers.get('content-type')), /^application\/json/);
      assert.is((await mode.get('/v1/models', {})).status, mode.mode === 'serverless' ? 401 : 200);
    },
  },
  {
    row: '4 POST /v1/chat/completions',
    says: 'takes the request of 2.1, answers with the response of 2.4',
    modes: ALL,
    check: async (mode) => {
      assert.is((await readJson(await mode.chat())).choices[0].message.role, 'assistant');
      const wrong = await mode.get('/v1/chat/completions');
      assert.equal([wrong.status, wrong.headers.get('allow')], [405, 'POST']);
    },
  },
  {
    row: '4 paths',
    says: 'are relative to {base_url}',
    modes: ALL,
    check: async (mode) => {
      const base = mode.mode === 'serverless' ? `/${DEPLOYMENT.org}/${DEPLOYMENT.app}` : '';
      assert.is(new URL(`${mode.baseUrl}/v1`).pathname, `${base}/v1`);
      const { error } = await readJson(await mode.get('/v1/v1/models'));
      assert.match(error.message, `Did you mean \`${base}/v1/models\`?`);
    },
  },
  {
    row: '4 rule 1',
    says: 'Content-Type: application/json is required',
    modes: LOCAL,
    check: async (mode) => {
      assert.is((await mode.chat({}, { 'content-type': 'application/json; charset=utf-8' })).status, 200);
      for (const type of TYPES) {
        const reply = await mode.chat({}, { 'content-type': type });
        assert.is(reply.status, 415, type);
        assert.is((await readJson(reply)).error.code, 'unsupported_media_type');
      }
    },
  },
  {
    row: '4 rule 1',
    says: 'is for the local modes: JSON is read whatever the header says',
    modes: ['serverless'],
    check: async (mode) => {
      for (const type of TYPES) assert.is((await mode.chat({}, { 'content-type': type })).status, 200, type);
      const without = new Request(`${mode.baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: mode.authorization,
        body: new TextEncoder().encode(JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }] })),
      });
      assert.is(without.headers.get('content-type'), null);
      assert.is((await fetch(without)).status, 200);
    },
  },
  {
    row: '4 rule 2',
    says: 'stream = true sends chunks',
    modes: ALL,
    check: async (mode) => {
      const reply = await mode.chat({ stream: true });
      assert.match(String(reply.headers.get('content-type')), /^text\/event-stream/);
      const { events, done } = await mode.stream();
      assert.ok(done);
      assert.ok(events.every(({ choices }) => 'content' in choices[0].delta));
      assert.is(new Set(events.map(({ id, created }) => `${id} ${created}`)).size, 1);
    },
  },
  {
    row: '4 rule 3',
    says: 'the model is not checked against a list',
    modes: ['desktop'],
    check: async (mode) => {
      assert.is((await mode.chat({ model: 'what was that name again?' })).status, 200);
    },
  },
  {
    row: '4 rule 5',
    says: 'image and text parts in any mixture, several images too',
    modes: ALL,
    check: async (mode) => {
      const image = { type: 'image_url', image_url: { url: await pictureUri('jpeg') } };
      const text = (words: string) => ({ type: 'text', text: words });
      const tokens = async (content: readonly object[]) => {
        const reply = await mode.chat({ messages: [{ role: 'user', content }], max_tokens: 1 });
        return (await readJson(reply)).usage.prompt_tokens;
      };
      const one = await tokens([text('Look.'), image]);
      const three = await tokens([image, text('Look.'), image, image]);
      assert.ok(three > one, `${one}, ${three}`);
      assert.is(await tokens([image, image, text('Look.'), image]), three);
    },
  },
  {
    row: '4 rule 4',
    says: 'stream absent or false sends the full text',
    modes: ALL,
    check: async (mode) => {
      for (const stream of [undefined, false]) assert.is(await mode.answer({ stream }), '3, 4, 5, 6, 7, 8, 9');
    },
  },
];
