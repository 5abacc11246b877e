import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChasquiError } from '../../../ts/errors.js';
import { Downloads } from '../../../ts/hub/downloads.js';
import { HubClient } from '../../../ts/hub/hub-client.js';
import { describeHeader, Library } from '../../../ts/hub/library.js';
import { findUpdate } from '../../../ts/hub/updates.js';
import { demoModelPath } from '../../support/demo-model.js';
import { download } from '../../support/fake-hub/download-context.js';
import { sha256 } from '../../support/fake-hub/repo.js';
import { fakeHub } from '../../support/fake-hub.js';
import { boolEntry, textEntry, writeGguf } from '../../support/gguf.js';
import { until } from '../../support/until.js';

interface Context {
  folder: string;
  library: Library;
  /** Returns a path in the test's folder, and creates its parent folders. */
  at(...names: string[]): string;
  /** Called after the test. */
  closers: (() => Promise<void>)[];
}

const test = suite<Context>('unit: models on this computer');
const DEMO = fs.readFileSync(demoModelPath);
/** Another file of the same kind: bytes behind the last tensor mean nothing. */
const OTHER = Buffer.concat([DEMO, Buffer.from('!')]);

test.before.each((context) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-library-'));
  context.folder = folder;
  context.closers = [];
  context.at = (...names) => {
    const file = path.join(folder, ...names);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    return file;
  };
  context.library = new Library({
    cacheFolder: path.join(folder, 'cache'),
    lmStudioFolders: [path.join(folder, 'lmstudio')],
    ollamaFolders: [path.join(folder, 'ollama')],
    folders: [path.join(folder, 'own')],
    importFolder: path.join(folder, 'imported'),
  });
});

test.after.each(async ({ folder, closers }) => {
  for (const close of closers) await close();
  fs.rmSync(folder, { recursive: true });
});

function failure(promise: Promise<unknown>): Promise<ChasquiError> {
  return promise.then(
    () => assert.unreachable(),
    (error) => error,
  ) as Promise<ChasquiError>;
}

test('nothing anywhere', async ({ library }) => {
  assert.equal(await library.list(), []);
});

test('models of LM Studio, of Ollama and of a folder, where they lie', async ({ library, at }) => {
  fs.writeFileSync(at('lmstudio', 'ada', 'tiny-GGUF', 'tiny-Q8_0.gguf'), DEMO);
  fs.writeFileSync(at('own', 'deep', 'mine.gguf'), OTHER);
  fs.writeFileSync(at('own', 'deep', 'mmproj-mine.gguf'), DEMO);
  fs.writeFileSync(at('own', 'broken.gguf'), 'GGUF');
  fs.writeFileSync(at('own', 'half-Q8_0-00001-of-00002.gguf'), DEMO);
  const third = Buffer.concat([DEMO, Buffer.from('?')]);
  fs.writeFileSync(at('ollama', 'blobs', `sha256-${sha256(third)}`), third);
  const layers = [{ mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${sha256(third)}`, size: 1 }];
  fs.writeFileSync(
    at('ollama', 'manifests', 'registry.ollama.ai', 'library', 'tiny', '1b'),
    JSON.stringify({ layers }),
  );
  fs.writeFileSync(at('ollama', 'manifests', 'registry.ollama.ai', 'library', 'tiny', 'gone'), '{"layers":[{}]}');
  const models = await library.list();
  assert.equal(
    models.map(({ id, source, canDelete, repo }) => ({ id, source, canDelete, repo })),
    [
      { id: 'ada/tiny-GGUF:Q8_0', source: 'lmstudio', canDelete: false, repo: 'ada/tiny-GGUF' },
      { id: 'mine', source: 'folder', canDelete: true, repo: null },
      { id: 'tiny:1b', source: 'ollama', canDelete: false, repo: null },
    ],
  );
  const mine = models[1];
  assert.match(mine?.projector ?? '', /mmproj-mine\.gguf$/);
  assert.equal([mine?.architecture, mine?.parameters, mine?.contextLength], ['llama', 1_600_160, 2048]);
  assert.equal(mine?.reasoning, []);
  assert.ok(mine?.capabilities.includes('vision') && mine.capabilities.includes('chat'));
  for (const id of ['ada/tiny-GGUF:Q8_0', 'tiny:1b'])
    assert.is((await failure(library.remove(id))).code, 'not_deletable');
  assert.equal(await library.remove('mine'), { freedBytes: OTHER.length + DEMO.length });
  assert.is((await failure(library.remove('mine'))).code, 'local_model_not_found');
});

test('a projector makes a model see images, unless it has an audio encoder only', async ({ library, at }) => {
  const capabilitiesWith = async (...encoders: string[]) => {
    fs.writeFileSync(at('own', 'mine.gguf'), OTHER);
    const entries = encoders.map((encoder) => boolEntry(`clip.has_${encoder}_encoder`, true));
    writeGguf(at('own', 'mmproj-mine.gguf'), [textEntry('general.architecture', 'clip'), ...entries], []);
    const [mine] = await library.list();
    assert.match(mine?.projector ?? '', /mmproj-mine\.gguf$/);
    return mine?.capabilities.includes('vision');
  };
  assert.is(await capabilitiesWith('audio'), false);
  assert.is(await capabilitiesWith('vision'), true);
  assert.is(await capabilitiesWith('vision', 'audio'), true);
  assert.is(await capabilitiesWith(), true);
});

test('reasoning can be chosen if the chat template reads a variable for it', () => {
  const reasoningOf = (template: string) => {
    const metadata = new Map([['tokenizer.chat_template', template]]);
    const header = {
      metadata,
      lengths: new Map(),
      lists: new Map(),
      parameters: 0,
      activeShare: 1,
      dataOffset: 0,
      minBytes: 0,
    };
    return describeHeader(header, false, false).reasoning;
  };
  assert.equal(reasoningOf('{{ messages }}'), []);
  assert.equal(reasoningOf('{% if enable_thinking %}'), ['off', 'on']);
  assert.equal(reasoningOf('{{ reasoning_effort }}'), ['low', 'medium', 'high']);
});

test('a deleted file leaves the cache', async ({ library, at }) => {
  const file = at('own', 'mine.gguf');
  const put = (bytes: Buffer) => {
    fs.writeFileSync(file, bytes);
    fs.utimesSync(file, 1000, 1000);
  };
  put(DEMO);
  assert.is((await library.list()).length, 1);
  fs.rmSync(file);
  assert.is((await library.list()).length, 0);
  put(Buffer.alloc(DEMO.length));
  assert.is((await library.list()).length, 0);
});

test('one file is one model, whatever leads to it', async ({ library, at }) => {
  fs.writeFileSync(at('own', 'a.gguf'), DEMO);
  fs.symlinkSync(at('own', 'a.gguf'), at('imported', 'b.gguf'));
  assert.is((await library.list()).length, 1);
});

test('import: a copy reports its progress, unless the file system clones it', async ({ library, at }) => {
  const files = [1, 2].map((number) => at('elsewhere', `p-Q8_0-0000${number}-of-00002.gguf`)) as [string, string];
  for (const file of files) fs.writeFileSync(file, DEMO);
  const shares: number[] = [];
  const model = await library.import(files[0], 'copy', false, (fraction) => shares.push(fraction));
  assert.equal(fs.readFileSync(model.path), DEMO);
  assert.equal(
    shares,
    [...shares].sort((one, other) => one - other),
  );
  if (canClone(files[0], at('imported', 'clone'))) assert.equal(shares, []);
  else assert.ok(shares.length >= 4 && shares.at(-1) === 1, String(shares));
});

function canClone(from: string, to: string): boolean {
  try {
    fs.copyFileSync(from, to, fs.constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch {
    return false;
  } finally {
    fs.rmSync(to, { force: true });
  }
}

test('import: parts and projector come along; a part that is missing is said', async ({ library, at }) => {
  const [one, two] = [1, 2].map((number) => at('elsewhere', `m-Q8_0-0000${number}-of-00002.gguf`)) as [string, string];
  fs.writeFileSync(one, DEMO);
  const missing = await failure(library.import(one, 'copy'));
  assert.is(missing.code, 'model_file_missing');
  assert.match(missing.message, /00002-of-00002\.gguf/);
  fs.writeFileSync(two, DEMO);
  fs.writeFileSync(at('elsewhere', 'mmproj-x.gguf'), DEMO);
  const model = await library.import(two, 'link');
  assert.is(model.path, at('imported', 'm-Q8_0', 'm-Q8_0-00001-of-00002.gguf'));
  assert.equal([model.id, model.sizeBytes], ['m-Q8_0', 3 * DEMO.length]);
  assert.ok(model.projector?.endsWith('mmproj-x.gguf'));
  // The bytes have other names still, so nothing is freed.
  assert.equal(await library.remove('m-Q8_0'), { freedBytes: 0 });
  assert.ok(fs.existsSync(one));
});

test('what was downloaded: updates by commit and digest, and what deleting frees', async ({ library, folder }) => {
  const eye = DEMO.subarray(0, 70_000);
  const hub = await fakeHub({
    'ada/m': { files: { 'm-Q4_K_M.gguf': DEMO, 'm-Q8_0.gguf': OTHER, 'mmproj-F16.gguf': eye } },
  });
  const client = new HubClient({ endpoint: hub.url });
  const downloads = await Downloads.open({ client, cacheFolder: path.join(folder, 'cache') });
  await download(downloads, 'ada/m:Q4_K_M');
  await download(downloads, 'ada/m:Q8_0');
  const [four, eight] = await library.list();
  assert.equal([four?.id, eight?.id], ['ada/m:Q4_K_M', 'ada/m:Q8_0']);
  assert.ok(four && eight && four.commit === hub.repos.get('ada/m')?.commit);
  assert.is((await findUpdate(client, four))?.state, 'same');
  const { commit } = hub.put('ada/m', {
    files: { 'm-Q4_K_M.gguf': DEMO, 'm-Q8_0.gguf': Buffer.concat([OTHER, eye]), 'mmproj-F16.gguf': eye },
  });
  assert.equal(await findUpdate(client, four), { state: 'same', commit, bytes: 0 });
  assert.equal(await findUpdate(client, eight), { state: 'changed', commit, bytes: OTHER.length + eye.length });
  hub.put('ada/m', { files: { 'm-Q4_K_M.gguf': DEMO } });
  assert.is((await findUpdate(client, eight))?.state, 'gone');
  // The projector is the other's, too, so it stays until that goes.
  assert.equal(await library.remove('ada/m:Q4_K_M'), { freedBytes: DEMO.length });
  assert.equal(await library.remove('ada/m:Q8_0'), { freedBytes: OTHER.length + eye.length });
  assert.equal(await library.list(), []);
  assert.not.ok(fs.existsSync(path.join(folder, 'cache', 'models--ada--m')));
  await downloads.close();
  await client.close();
  await hub.close();
});

/** Two models of a repository: a complete one, and one with a second part that the hub holds back. */
async function downloadHalf({ folder, closers }: Context, files: Record<string, Buffer>) {
  const second = 'm-Q8_0-00002-of-00002.gguf';
  const hub = await fakeHub({ 'ada/m': { files: { 'm-Q8_0-00001-of-00002.gguf': DEMO, [second]: OTHER, ...files } } });
  const client = new HubClient({ endpoint: hub.url });
  const cacheFolder = path.join(folder, 'cache');
  const downloads = await Downloads.open({ client, cacheFolder, stallTimeoutMs: 60_000 });
  closers.push(async () => {
    await downloads.close();
    await client.close();
    await hub.close();
  });
  await download(downloads, 'ada/m:Q4_K_M');
  hub.misbehaviour = { holds: { path: second, fromByte: 0 } };
  const { id } = await downloads.start('ada/m:Q8_0');
  const secondFile = path.join(cacheFolder, 'models--ada--m', 'blobs', `${sha256(OTHER)}.chasqui-part`);
  await until(() => fs.existsSync(secondFile), 'the first part is there, and the second begun');
  return {
    ended: () => {
      hub.misbehaviour = {};
      return downloads.ended(id);
    },
    resumed: () => {
      downloads.resume(id);
      return downloads.ended(id);
    },
  };
}

test('deleting a model leaves what another download of its repository has so far', async (context) => {
  const { library } = context;
  const four = Buffer.concat([DEMO, Buffer.from('four')]);
  const half = await downloadHalf(context, { 'm-Q4_K_M.gguf': four });
  assert.equal(await library.remove('ada/m:Q4_K_M'), { freedBytes: four.length });
  const job = await half.ended();
  assert.is(job.state, 'completed');
  assert.ok(fs.readFileSync(job.path ?? '').equals(DEMO));
});

test('a download of which a file was deleted on its way fails, and can be resumed', async (context) => {
  const { library } = context;
  // The same bytes as the first part.
  const half = await downloadHalf(context, { 'm-Q4_K_M.gguf': DEMO });
  assert.equal(await library.remove('ada/m:Q4_K_M'), { freedBytes: DEMO.length });
  const { state, error } = await half.ended();
  assert.equal([state, error?.code], ['failed', 'download_failed']);
  assert.match(error?.message ?? '', /m-Q8_0-00001-of-00002\.gguf was deleted/);
  const job = await half.resumed();
  assert.is(job.state, 'completed');
  assert.ok(fs.readFileSync(job.path ?? '').equals(DEMO));
});

test('deleting frees the bytes that have two names, where there are no symbolic links', async ({ library, at }) => {
  const blob = at('cache', 'models--ada--m', 'blobs', sha256(DEMO));
  fs.writeFileSync(blob, DEMO);
  fs.linkSync(blob, at('cache', 'models--ada--m', 'snapshots', 'a'.repeat(40), 'm-Q8_0.gguf'));
  assert.equal(await library.remove('ada/m:Q8_0'), { freedBytes: DEMO.length });
  assert.not.ok(fs.existsSync(blob));
});

test('deleting leaves the bytes that another state of the repository has under another name', async ({
  library,
  at,
}) => {
  const blob = at('cache', 'models--ada--m', 'blobs', sha256(DEMO));
  fs.writeFileSync(blob, DEMO);
  const link = (commit: string, name: string) =>
    fs.symlinkSync(
      path.join('..', '..', 'blobs', sha256(DEMO)),
      at('cache', 'models--ada--m', 'snapshots', commit, name),
    );
  link('a'.repeat(40), 'm-Q8_0.gguf');
  link('b'.repeat(40), 'renamed-Q4_0.gguf');
  for (const freedBytes of [0, DEMO.length]) {
    const [model, ...others] = await library.list();
    assert.equal([others.length, fs.existsSync(blob)], [0, true]);
    assert.equal(await library.remove(model?.id ?? ''), { freedBytes });
  }
  assert.not.ok(fs.existsSync(blob));
});

test.run();
