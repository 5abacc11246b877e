/** Section 5: authentication. */
import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { runCli } from '../../support/child.js';
import { DEPLOYMENT, type HostedMode, MODEL } from '../../support/modes.js';
import { readJson } from '../../support/read-json.js';
import { startServer } from '../../support/start-server.js';
import { LOCAL, type Row } from '../row.js';

async function keys(mode: HostedMode, ...args: string[]): Promise<{ id: string; key: string }> {
  const { stdout, stderr } = await runCli(['keys', ...args, '--json', '--data-dir', mode.dataDir]);
  assert.is(stderr, '');
  return JSON.parse(stdout);
}

export const authenticationRows: Row[] = [
  {
    row: '5 private deployment',
    says: 'every request carries Authorization: Key <API_KEY>',
    modes: ['serverless'],
    check: async (mode) => {
      const { key } = await keys(mode, 'create', '--org', DEPLOYMENT.org);
      assert.is((await mode.get('/v1/models', { authorization: `Key ${key}` })).status, 200);
      const refused = [undefined, key, `Bearer ${key}`, `key ${key}`, `KEY ${key}`, `Key  ${key}`, `Key${key}`, 'Key'];
      for (const authorization of [...refused, `Key ${key}x`, `Key ${key.split(':')[0]}`, 'Key not-needed']) {
        const reply = await mode.get('/v1/models', authorization === undefined ? {} : { authorization });
        assert.equal([reply.status, reply.headers.get('www-authenticate')], [401, 'Key'], authorization);
        const { error } = await readJson(reply);
        assert.equal([error.type, error.code], ['authentication_error', 'invalid_api_key']);
        assert.match(error.message, 'the header `Authorization: Key <API_KEY>`');
        assert.not.match(error.message, key.split(':')[1] as string);
      }
      for (const url of ['/v1/models/x', '/health', '/', '/nowhere']) assert.is((await mode.get(url, {})).status, 401);
      assert.is((await mode.chat({}, { authorization: `Bearer ${key}` })).status, 401);
    },
  },
  {
    row: '5 private deployment',
    says: 'the account owner creates keys, and revokes them',
    modes: ['serverless'],
    check: async (mode) => {
      const [own, other] = [
        await keys(mode, 'create', '--org', DEPLOYMENT.org),
        await keys(mode, 'create', '--org', 'x'),
      ];
      assert.is((await mode.get('/v1/models', { authorization: `Key ${other.key}` })).status, 401);
      const status = async () => (await mode.get('/v1/models', { authorization: `Key ${own.key}` })).status;
      assert.is(await status(), 200);
      await keys(mode, 'revoke', own.id);
      assert.is(await status(), 401);
    },
  },
  {
    row: '5 private deployment',
    says: 'a client made for bearer keys gets in with a header of its own, and a typed error without',
    modes: ['serverless'],
    check: async (mode) => {
      const options = { baseURL: `${mode.baseUrl}/v1`, apiKey: 'unused', maxRetries: 0 };
      const ask = (client: OpenAI) =>
        client.chat.completions.create({ model: MODEL, messages: [{ role: 'user', content: 'Hello!' }] });
      const Authorization = mode.authorization.authorization as string;
      const { choices } = await ask(new OpenAI({ ...options, defaultHeaders: { Authorization } }));
      assert.type(choices[0]?.message.content, 'string');
      const failure = await ask(new OpenAI(options)).catch((error: unknown) => error);
      assert.instance(failure, OpenAI.AuthenticationError);
      assert.match((failure as Error).message, /`Bearer` is not accepted/);
    },
  },
  {
    row: '5 serverless',
    says: 'a public deployment asks for no key',
    modes: ['serverless'],
    check: async () => {
      const { org, app } = DEPLOYMENT;
      const server = await startServer([
        ...['--mode', 'serverless', '--org', org, '--app', app],
        ...['--auth', 'public', '--threads', '1'],
      ]);
      try {
        assert.is((await fetch(`${server.url}/v1/models`)).status, 200);
      } finally {
        await server.stop();
      }
    },
  },
  {
    row: '5 local servers',
    says: 'no authentication; clients may send any placeholder',
    modes: LOCAL,
    check: async (mode) => {
      for (const authorization of [undefined, 'Bearer not-needed', 'Key not-needed', 'x', '']) {
        const headers = authorization === undefined ? {} : { authorization };
        assert.is((await mode.get('/v1/models', headers)).status, 200);
        assert.is((await mode.chat({ max_tokens: 1 }, headers)).status, 200);
      }
    },
  },
];
