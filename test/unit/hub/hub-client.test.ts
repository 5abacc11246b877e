import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChasquiError } from '../../../ts/errors.js';
import { HubClient } from '../../../ts/hub/hub-client.js';
import { hubSettings } from '../../../ts/hub/hub-settings.js';
import { tinyModel } from '../../support/fake-hub/models.js';
import { sha256 } from '../../support/fake-hub/repo.js';
import { type FakeHub, fakeHub } from '../../support/fake-hub.js';

interface Context {
  hub: FakeHub;
  client: HubClient;
}

const test = suite<Context>('unit: asking the hub');
const MODEL = tinyModel(4000);

test.before.each(async (context) => {
  const gguf = { architecture: 'llama', total: 8000, context_length: 8192, chat_template: '{{ tools }}' };
  context.hub = await fakeHub({
    'ada/chat': {
      files: {
        'README.md': '---\nlicense: mit\n---\n# Chat',
        'c-Q8_0.gguf': MODEL,
        'c-Q4_K_M.gguf': MODEL,
        'mmproj-F16.gguf': MODEL,
      },
      gguf,
      licence: 'mit',
      downloads: 5,
      pipelineTag: 'image-text-to-text',
    },
    'bob/embed': { files: { 'e-F16.gguf': MODEL }, pipelineTag: 'feature-extraction', downloads: 9, gated: 'auto' },
  });
  context.client = new HubClient({ endpoint: context.hub.url });
});

test.after.each(async ({ hub, client }) => {
  await client.close();
  await hub.close();
});

async function failure(promise: Promise<unknown>): Promise<ChasquiError> {
  return promise.then(
    () => assert.unreachable(),
    (error) => error,
  ) as Promise<ChasquiError>;
}

test('search: what is asked for, what comes, and page after page', async ({ client, hub }) => {
  const { models, next } = await client.search({
    text: '',
    sort: 'downloads',
    limit: 1,
    minParameters: 1e9,
    maxParameters: 9.5e9,
  });
  const asked = new URL(hub.seen[0]?.path ?? '', 'http://hub').searchParams;
  assert.equal(
    [asked.get('filter'), asked.get('num_parameters'), asked.get('sort')],
    ['gguf', 'min:1B,max:9.5B', 'downloads'],
  );
  assert.equal(models, [
    {
      repo: 'bob/embed',
      downloads: 9,
      likes: 0,
      modifiedAt: Date.UTC(2026, 4, 4, 3, 2, 1),
      gated: 'auto',
      parameters: null,
      architecture: null,
      contextLength: null,
      capabilities: ['embeddings'],
      quantisations: ['F16'],
    },
  ]);
  const second = await client.search({ sort: 'downloads', limit: 1, cursor: next ?? '' });
  assert.is(second.next, null);
  const [chat] = second.models;
  assert.equal([chat?.repo, chat?.parameters, chat?.contextLength], ['ada/chat', 8000, 8192]);
  assert.equal(chat?.capabilities, ['chat', 'tools', 'vision']);
  assert.equal(chat?.quantisations, ['Q4_K_M', 'Q8_0']);
  assert.equal((await client.search({ capability: 'tools' })).models.length, 1);
  assert.equal((await client.search({ capability: 'chat' })).models.length, 1);
  assert.equal((await client.search({ author: 'bob' })).models.length, 1);
});

test('a query that cannot be is refused before it is sent', async ({ client, hub }) => {
  for (const query of [
    { limit: 0 },
    { limit: 101 },
    { text: 'x'.repeat(300) },
    { sort: 'size' as 'likes' },
    { minParameters: -1 },
  ]) {
    assert.is((await failure(client.search(query))).code, 'invalid_value');
  }
  assert.equal(hub.seen, []);
});

test('a model: its state, licence, description and files, over several pages of a tree', async ({ client, hub }) => {
  hub.misbehaviour = { treePage: 1 };
  const model = await client.model('ada/chat');
  assert.is(model.commit, hub.repos.get('ada/chat')?.commit);
  assert.equal([model.licence, model.readme, model.architecture], ['mit', '# Chat', 'llama']);
  assert.equal(
    model.quantisations.map(({ label, files, projector }) => [label, files[0]?.sha256, projector?.path]),
    [
      ['Q8_0', sha256(MODEL), 'mmproj-F16.gguf'],
      ['Q4_K_M', sha256(MODEL), 'mmproj-F16.gguf'],
    ],
  );
  assert.is(await client.commitOf('ada/chat'), model.commit);
});

for (const [what, tree] of [
  ['paths that lead out', [{ type: 'file', path: '../../x-Q8_0.gguf', size: 1 }]],
  ['digests that are paths', [{ type: 'file', path: 'x-Q8_0.gguf', size: 1, lfs: { oid: '../../../x', size: 1 } }]],
  [
    'sizes that are no sizes',
    [
      { type: 'file', path: 'x-Q8_0.gguf', size: -1 },
      { type: 'file', path: 'y-Q8_0.gguf', size: '9' },
    ],
  ],
  ['entries that are none', [null, 7, 'x', [], {}]],
] as const) {
  test(`a hostile tree: ${what}`, async ({ client, hub }) => {
    hub.misbehaviour = { tree };
    const { quantisations } = await client.model('ada/chat');
    for (const { files } of quantisations) {
      assert.equal(
        files.map(({ path, sha256: digest }) => [path, digest]),
        [['x-Q8_0.gguf', null]],
      );
    }
  });
}

test('a hostile list: what is not a model is left out, and what is too long or no JSON is refused', async ({
  client,
  hub,
}) => {
  hub.misbehaviour = { list: [{ id: '../../etc' }, null, { id: 'a/b', downloads: 'many', gguf: { total: 1e300 } }] };
  const { models } = await client.search({});
  assert.equal([models.length, models[0]?.downloads, models[0]?.parameters], [1, 0, null]);
  for (const list of ['{', '"text"', `["${'x'.repeat(17 * 2 ** 20)}"]`]) {
    hub.misbehaviour = { list };
    assert.is((await failure(client.search({}))).code, 'hub_failed');
  }
  hub.misbehaviour = { model: { id: 'ada/chat', sha: '../main' } };
  assert.is((await failure(client.model('ada/chat'))).code, 'hub_failed');
});

test('settings: as the environment says, what cannot be is refused', () => {
  const { endpoint, cacheFolder } = hubSettings({ HF_HOME: '/h', HF_ENDPOINT: 'https://mirror.example/hf/' });
  assert.equal([endpoint, cacheFolder], ['https://mirror.example/hf', '/h/hub']);
  assert.is(hubSettings({ HF_HOME: '/h', HF_HUB_CACHE: '/c' }).cacheFolder, '/c');
  assert.is(hubSettings({ LLAMA_CACHE: '/l', HF_HUB_CACHE: '/c' }).cacheFolder, '/l');
  assert.is(hubSettings({ HF_TOKEN: 'hf_x', HF_ENDPOINT: 'http://m' }).token, 'hf_x');
  for (const address of ['ftp://x', 'x', 'https://a:b@c.example', 'https://a.example/?x=1']) {
    assert.throws(() => hubSettings({ HF_ENDPOINT: address }), /HF_ENDPOINT/);
  }
  assert.throws(() => hubSettings({ HF_TOKEN: 'a\nb' }), /HF_TOKEN/);
});

test('a proxy of the environment is used, and not for what it is not meant for', async ({ hub }) => {
  const tunnels: string[] = [];
  const proxy = http.createServer().on('connect', (request, socket, head) => {
    tunnels.push(request.url ?? '');
    const to = net.connect(Number(new URL(hub.url).port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      to.write(head);
      socket.pipe(to).pipe(socket);
    });
    for (const end of [to, socket]) end.on('error', () => {});
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  process.env.http_proxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  process.env.no_proxy = 'other.invalid';
  const client = new HubClient({ endpoint: 'http://hub.invalid' });
  const excepted = new HubClient({ endpoint: 'http://other.invalid' });
  try {
    assert.is((await client.search({})).models.length, 2);
    assert.equal(tunnels, ['hub.invalid:80']);
    assert.is((await failure(excepted.search({}))).code, 'hub_unreachable');
    assert.is(tunnels.length, 1);
  } finally {
    delete process.env.http_proxy;
    delete process.env.no_proxy;
    await Promise.all([client.close(), excepted.close()]);
    proxy.close();
    proxy.closeAllConnections();
  }
});

test('a token goes over no connection that others can read', async () => {
  const hub = await fakeHub({ 'ada/own': { files: {}, private: true, tokens: ['good'] } });
  // The name of this computer is no loopback address by its looks.
  const client = new HubClient({ endpoint: hub.url.replace('127.0.0.1', '0.0.0.0'), token: 'good' });
  await failure(client.model('ada/own'));
  assert.is(hub.seen[0]?.authorization, undefined);
  await client.close();
  await hub.close();
});

test.run();
