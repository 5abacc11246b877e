// The history of chats, through the API and a kill of the app.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { desktopFolder, type RunningDesktop, removeFolder, startDesktop } from '../support/start-desktop.js';

const chats = suite('chats of the app');
const folder = desktopFolder();
let app: RunningDesktop;

chats.before(async () => {
  app = await startDesktop([], { folder });
});

chats.after(async () => {
  await app.stop();
  removeFolder(folder);
});

chats('a chat with large images is kept, found by its words and exported, also after a kill', async () => {
  const image = `data:image/png;base64,${'A'.repeat(9 * 2 ** 20)}`;
  const messages = [
    { id: 'a', parent: null, role: 'user', content: 'Which bird is this?', images: [image, image] },
    { id: 'b', parent: 'a', role: 'assistant', content: 'A hummingbird, I believe.' },
  ];
  const { id } = await app.done('POST', '/api/v1/chats', { title: 'Birds', messages, current: 'b' });
  const added = [{ id: 'c', parent: 'b', role: 'user', content: 'Are you sure?' }];
  const { updatedAt } = await app.done('POST', `/api/v1/chats/${id}/messages`, { messages: added, current: 'c' });
  await app.kill();
  app = await startDesktop([], { folder });
  const read = await app.done('GET', `/api/v1/chats/${id}`);
  assert.is(read.messages.length, 3);
  assert.is(read.messages[0].images[1], image);
  assert.equal([read.current, read.updatedAt], ['c', updatedAt]);
  const { chats: found } = await app.done('GET', '/api/v1/chats?text=hummingb');
  assert.equal(
    found.map((each: { id: string; snippet: string }) => [each.id, each.snippet]),
    [[id, 'A \u0002hummingbird\u0003, I believe.']],
  );
  const headers = { authorization: `Bearer ${app.token}` };
  const markdown = await fetch(`${app.url}/api/v1/chats/${id}/export?format=md`, { headers });
  assert.is(markdown.headers.get('content-disposition'), 'attachment; filename="Birds.md"');
  assert.match(await markdown.text(), /^# Birds\n\n## You\n\n\*\(image 1\)\* \*\(image 2\)\*\n\nWhich bird/);
  const json = await fetch(`${app.url}/api/v1/chats/${id}/export?format=json`, { headers });
  assert.is(((await json.json()) as { id: string }).id, id);
  assert.is((await app.api('DELETE', `/api/v1/chats/${id}`)).status, 204);
  assert.is((await app.api('GET', `/api/v1/chats/${id}`)).status, 404);
});

chats('a deleted message passes its replies to the message before it', async () => {
  const message = (id: string, parent: string | null) => ({ id, parent, role: 'user', content: id });
  const messages = [message('a', null), message('b', 'a'), message('c', 'b'), message('d', 'b')];
  const { id } = await app.done('POST', '/api/v1/chats', { title: 'Deleted', messages, current: 'd' });
  const remove = async (name: string) => {
    const left = await app.done('DELETE', `/api/v1/chats/${id}/messages/${name}`);
    assert.equal(left.messages, (await app.done('GET', `/api/v1/chats/${id}`)).messages);
    return [left.current, ...left.messages.map((each: { id: string; parent: string }) => [each.id, each.parent])];
  };
  assert.equal(await remove('b'), ['d', ['a', null], ['c', 'a'], ['d', 'a']]);
  assert.equal(await remove('d'), ['a', ['a', null], ['c', 'a']]);
  assert.equal(await remove('a'), ['c', ['c', null]]);
  assert.equal(await remove('c'), [null]);
  const gone = await app.api('DELETE', `/api/v1/chats/${id}/messages/c`);
  assert.equal([gone.status, gone.body.error.param], [404, 'message']);
});

chats('all chats are exported, and imported again as they were', async () => {
  const image = 'data:image/png;base64,AAAA';
  const messages = [{ id: 'a', parent: null, role: 'user', content: 'x\u0000y', images: [image] }];
  const folder = '目录/a b%';
  await app.done('POST', '/api/v1/folders', { name: folder });
  const { id } = await app.done('POST', '/api/v1/chats', { title: 'Taken along', messages, pinned: true, folder });
  const exported = await app.done('GET', '/api/v1/chats/export');
  const own = exported.chats.find((each: { id: string }) => each.id === id);
  assert.equal([own.messages, own.folder], [messages, folder]);
  await app.done('DELETE', `/api/v1/chats/${id}`);
  assert.equal(await app.done('DELETE', `/api/v1/folders/${encodeURIComponent(folder)}`), { folders: [] });
  const give = (value: unknown) => {
    const base64 = Buffer.from(JSON.stringify(value)).toString('base64');
    const input = { filename: 'c.json', file_data: `data:application/json;base64,${base64}` };
    return app.api('POST', '/api/v1/chats/import', { input });
  };
  assert.equal((await give({ chats: [own] })).body, { imported: 1 });
  const { chats: listed, folders } = await app.done('GET', '/api/v1/chats?text=Taken');
  assert.equal(folders, [{ name: folder, open: true }]);
  assert.equal([listed[0].createdAt, listed[0].updatedAt, listed[0].pinned], [own.createdAt, own.updatedAt, true]);
  const again = await app.done('GET', `/api/v1/chats/${listed[0].id}`);
  assert.equal({ ...again, id, running: undefined }, { ...own, running: undefined });

  await app.done('POST', '/api/v1/folders', { name: 'Empty' });
  const all = await app.done('GET', '/api/v1/chats/export');
  assert.equal(all.folders, ['Empty', folder]);
  for (const name of all.folders) await app.done('DELETE', `/api/v1/folders/${encodeURIComponent(name)}`);
  assert.equal((await give({ chats: [], folders: all.folders })).body, { imported: 0 });
  assert.equal((await app.done('GET', '/api/v1/chats')).folders.length, 2);
  assert.equal((await give({ chats: [], folders: ['Empty', 'Empty', 'New'] })).status, 200);
  for (const wrong of [[' '], ['x'.repeat(81)], [5], Array.from({ length: 300 }, (_, index) => `f${index}`)]) {
    const { status, body } = await give({ chats: [own], folders: ['Not created', ...wrong] });
    assert.is(status, 400, JSON.stringify(body));
  }
  const names = (await app.done('GET', '/api/v1/chats')).folders.map(({ name }: { name: string }) => name);
  assert.equal(names, ['Empty', 'New', folder]);

  const before = (await app.done('GET', '/api/v1/chats')).chats.length;
  for (const wrong of [{ role: 'owner' }, { parent: 'none' }, { images: ['http://x/y.png'] }]) {
    const { status, body } = await give([own, { ...own, messages: [{ ...messages[0], ...wrong }] }]);
    assert.is(status, 400, JSON.stringify(body));
  }
  assert.is((await app.done('GET', '/api/v1/chats')).chats.length, before, 'all or nothing');
});

chats('what makes no sense is refused with the name of its field', async () => {
  const message = { id: 'a', parent: null, role: 'user', content: 'x' };
  for (const [body, param] of [
    [{ title: 1 }, 'title'],
    [{ folder: 'none' }, 'folder'],
    [{ folder: ' ' }, 'folder'],
    [{ messages: [{ ...message, role: 'owner' }] }, 'messages[0].role'],
    [{ messages: [{ ...message, id: '../x' }] }, 'messages[0].id'],
    [{ messages: [{ ...message, images: ['http://x/y.png'] }] }, 'messages[0].images[0]'],
    [{ messages: [{ ...message, content: undefined }] }, 'messages[0].content'],
  ] as const) {
    const reply = await app.api('POST', '/api/v1/chats', body);
    assert.equal([reply.status, reply.body.error.param], [400, param], JSON.stringify(reply.body));
  }
  assert.is((await app.api('GET', `/api/v1/chats?text=${'x'.repeat(501)}`)).status, 400);
  assert.is((await app.api('GET', '/api/v1/chats/none/export?format=pdf')).status, 400);
});

chats.run();
