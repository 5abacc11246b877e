/** Tables 2.2 and 2.3 (messages and their parts), 2.4 (responses) and 2.5 (model list). */
import * as assert from 'uvu/assert';
import { FORMATS, pictureUri } from '../../support/image-files.js';
import { imageServer } from '../../support/image-server.js';
import { type HostedMode, MODEL } from '../../support/modes.js';
import { readJson } from '../../support/read-json.js';
import { ALL, type Row } from '../row.js';

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const text = (words: string) => ({ type: 'text', text: words });
const image = (url: string) => ({ type: 'image_url', image_url: { url } });

async function promptTokens(mode: HostedMode, content: readonly object[]): Promise<number> {
  const { usage } = await readJson(await mode.chat({ ...user(content), max_tokens: 1 }));
  return usage.prompt_tokens;
}

export const bodyRows: Row[] = [
  {
    row: '2.2 role',
    says: 'string, required; "user" at least',
    modes: ALL,
    check: async (mode) => {
      assert.is((await mode.reach(user('Hi'))).job?.prompt, '<user>Hi');
      const { status, body } = await mode.reach({ messages: [{ content: 'Hi' }] });
      assert.equal([status, JSON.parse(body).error.param], [400, 'messages[0].role']);
    },
  },
  {
    row: '2.2 content',
    says: 'string or array of parts, required',
    modes: ALL,
    check: async (mode) => {
      assert.is(await mode.answer(user('Count from 3 to 9')), '3, 4, 5, 6, 7, 8, 9');
      assert.is(await mode.answer(user([{ type: 'text', text: 'Count from 3 to 9' }])), '3, 4, 5, 6, 7, 8, 9');
      for (const [content, code] of [
        [undefined, 'missing_required_parameter'],
        [null, 'invalid_type'],
        [5, 'invalid_type'],
      ]) {
        const { status, body } = await mode.reach(user(content));
        const { error } = JSON.parse(body);
        assert.equal([status, error.param, error.code], [400, 'messages[0].content', code]);
      }
    },
  },
  {
    row: '2.3 text part',
    says: 'type "text", and text',
    modes: ALL,
    check: async (mode) => {
      const parts = [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ];
      assert.is((await mode.reach(user(parts))).job?.prompt, '<user>one\ntwo');
      const { status, body } = await mode.reach(user([{ type: 'text' }]));
      assert.equal([status, JSON.parse(body).error.param], [400, 'messages[0].content[0].text']);
    },
  },
  {
    row: '2.3 image part',
    says: 'needs a model with vision: to another, the error says so',
    modes: ALL,
    check: async (mode) => {
      const { status, body } = await mode.reach(user([text('What is this?'), image(await pictureUri('png'))]));
      const { code, param } = JSON.parse(body).error;
      assert.equal([status, code, param], [400, 'image_not_supported', 'messages[0].content[1].image_url.url']);
    },
  },
  {
    row: '2.3 image part',
    says: 'type "image_url", and image_url.url, a data URI',
    modes: ALL,
    check: async (mode) => {
      const blind = await promptTokens(mode, [text('What is this?')]);
      const sizes = await Promise.all(
        FORMATS.map(async (format) => promptTokens(mode, [text('What is this?'), image(await pictureUri(format))])),
      );
      assert.ok(
        sizes.every((size) => size === sizes[0] && size > blind),
        `${blind}; ${sizes}`,
      );
      const { error } = await readJson(await mode.chat(user([{ type: 'image_url', image_url: {} }])));
      assert.equal([error.param, error.code], ['messages[0].content[0].image_url.url', 'missing_required_parameter']);
    },
  },
  {
    row: '2.3 image part',
    says: 'or an address; of this machine in the local modes only',
    modes: ALL,
    check: async (mode) => {
      const server = await imageServer();
      try {
        const { error, usage } = await readJson(await mode.chat(user([image(`${server.url}/png`)])));
        assert.is(error?.code, mode.mode === 'serverless' ? 'image_download_failed' : undefined);
        assert.is(usage === undefined, mode.mode === 'serverless');
      } finally {
        await server.close();
      }
    },
  },
  {
    row: '2.4 choices',
    says: 'the first has message.content with the text',
    modes: ALL,
    check: async (mode) => {
      const { choices } = await readJson(await mode.chat());
      assert.is(choices.length, 1);
      assert.is(choices[0].message.content, '3, 4, 5, 6, 7, 8, 9');
    },
  },
  {
    row: '2.4 chunks',
    says: 'choices[0].delta.content is a string or null, and their concatenation the text',
    modes: ALL,
    check: async (mode) => {
      const { events, done } = await mode.stream();
      assert.ok(done);
      const contents: (string | null)[] = events.map(({ choices }) => choices[0].delta.content);
      assert.ok(contents.every((content) => content === null || typeof content === 'string'));
      assert.is(contents.filter((content) => content !== null).join(''), '3, 4, 5, 6, 7, 8, 9');
    },
  },
  {
    row: '2.5',
    says: 'the list has an entry for the model that is served',
    modes: ALL,
    check: async (mode) => {
      const { object, data } = await readJson(await mode.get('/v1/models'));
      assert.is(object, 'list');
      assert.equal(
        data.map(({ id, object }: { id: string; object: string }) => [id, object]),
        [[MODEL, 'model']],
      );
    },
  },
];
