import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { progressLine } from '../../ts/cli/hub/fetch-hub-model.js';
import { callCli } from '../support/call-cli.js';
import { runCli, startChild } from '../support/child.js';
import { demoModelPath } from '../support/demo-model.js';
import { type FakeHub, fakeHub } from '../support/fake-hub.js';
import { until } from '../support/until.js';

interface Context {
  folder: string;
  hub: FakeHub;
  run(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>;
  variables: Record<string, string>;
}

const test = suite<Context>('cli: models of the hub');
const DEMO = fs.readFileSync(demoModelPath);
const REPO = 'chasqui/demo-GGUF';
const GGUF = { architecture: 'llama', total: 1_600_160, context_length: 2048, chat_template: 'with tools' };

test.before(async (context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-hub-'));
  context.hub = await fakeHub({
    [REPO]: {
      files: { 'demo-Q8_0.gguf': DEMO, 'demo-Q4_K_M.gguf': DEMO },
      gguf: GGUF,
      downloads: 1_234_567,
      likes: 42,
    },
    'someone-with-a-long-name/a-model-whose-name-does-not-end-where-one-would-wish-GGUF': {
      files: { 'x-Q4_K_M.gguf': DEMO },
      gguf: { total: 405e9, architecture: 'llama' },
      gated: 'manual',
    },
    'ada/embedder': { files: { 'e-F16.gguf': DEMO }, pipelineTag: 'feature-extraction', likes: 7 },
  });
  context.variables = {
    HF_ENDPOINT: context.hub.url,
    HF_HUB_CACHE: path.join(context.folder, 'cache'),
    CHASQUI_HOME: path.join(context.folder, 'home'),
    HOME: context.folder,
    OLLAMA_MODELS: path.join(context.folder, 'ollama'),
    HF_TOKEN: '',
    COLUMNS: '80',
  };
  context.run = async (...args) => {
    const { code, stdout, stderr } = await callCli(args, context.variables);
    return { code, stdout, stderr };
  };
});

test.after(async ({ hub, folder }) => {
  await hub.close();
  fs.rmSync(folder, { recursive: true });
});

function checkWidth(text: string): void {
  assert.equal(
    text.split('\n').filter((line) => [...line].length > 80),
    [],
  );
}

test('serve --offline asks no hub for a model that is not on this computer', async ({ run, hub }) => {
  const url = `${hub.url}/ada/embedder/resolve/main/e-F16.gguf`;
  for (const args of [['-hf', 'ada/embedder'], ['ada/embedder'], ['--model-url', url]]) {
    const { code, stderr } = await run('serve', ...args, '--offline');
    assert.is(code, 5, stderr);
    assert.match(stderr, /^chasqui: \S+ is not on this computer, and --offline permits no download\.\n$/);
  }
  assert.equal(hub.seen, []);
});

test('search', async ({ run }) => {
  const { code, stdout } = await run('search', '--sort', 'likes');
  assert.is(code, 0);
  checkWidth(stdout);
  const [header, first, second, third] = stdout.split('\n');
  assert.match(header ?? '', /^MODEL +SIZE +DOWNLOADS +LIKES +ON THIS COMPUTER$/);
  assert.match(first ?? '', /^chasqui\/demo-GGUF +2M +1\.2M +42 +fits$/);
  assert.match(second ?? '', /^ada\/embedder +- +0 +7 +-$/);
  assert.match(third ?? '', /^someone-.*….*wish-GGUF +405\.0B +0 +0 +too large, gated$/);
  const fitting = JSON.parse((await run('search', 'gguf', '--fits', '--json')).stdout);
  assert.equal(
    fitting.models.map(({ repo }: { repo: string }) => repo),
    [REPO],
  );
  assert.is((await run('search', 'nothing-like-it')).stdout, 'Nothing was found.\n');
  const page = await run('search', '--sort', 'likes', '--limit', '1');
  const cursor = /--cursor (\S+)/.exec(page.stdout)?.[1] ?? '';
  assert.match((await run('search', '--sort', 'likes', '--limit', '1', '--cursor', cursor)).stdout, /ada\/embedder/);
});

test('what is there of a model, with what to take', async ({ run }) => {
  const { stdout } = await run('get', '--list', REPO);
  checkWidth(stdout);
  assert.match(
    stdout,
    /^QUANT +SIZE +FITS\nQ8_0 +1\.8 MB +yes +As good.*\nQ4_K_M +1\.8 MB +yes +RECOMMENDED: Fast, with little/,
  );
});

test('get, ls, rm', async ({ run, hub, folder }) => {
  assert.match((await run('ls')).stdout, /No models on this computer\. .*chasqui search/);
  const got = await run('get', REPO);
  assert.is(got.code, 0, got.stderr);
  assert.match(
    got.stdout,
    /^chasqui\/demo-GGUF:Q4_K_M is here, 1\.8 MB:\n.*demo-Q4_K_M\.gguf\nTo serve it: npx chasqui serve -hf/,
  );
  // Without a terminal lines come, and nothing that moves a cursor.
  assert.match(got.stderr, /^chasqui\/demo-GGUF:Q4_K_M: downloading .*\n(.*\n)*.*completed 1\.8 MB of 1\.8 MB\n$/);
  assert.not.match(got.stderr, /\r/);
  const sent = hub.sentBytes();
  const again = JSON.parse((await run('get', `hf.co/${REPO}:q4_k_m`, '--json')).stdout);
  assert.equal([again.state, hub.sentBytes() - sent], ['completed', 0]);
  assert.is(again.downloaded_bytes, again.total_bytes);
  assert.match(again.finished_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const listed = await run('ls');
  checkWidth(listed.stdout);
  assert.match(
    listed.stdout,
    /^MODEL +SIZE +PARAMETERS +CAN +FROM\nchasqui\/demo-GGUF:Q4_K_M +1\.8 MB +2M +chat.* +hub\n$/,
  );
  const [model] = JSON.parse((await run('ls', '--json')).stdout);
  assert.equal([model.id, model.architecture, model.source], [`${REPO}:Q4_K_M`, 'llama', 'hub']);
  assert.equal([model.size_bytes, model.context_length], [DEMO.length, 2048]);
  assert.match((await run('ls', '--updates')).stdout, / none\n$/);
  const removed = JSON.parse((await run('rm', `${REPO}:Q4_K_M`, '--json')).stdout);
  assert.equal(removed, { model: `${REPO}:Q4_K_M`, freed_bytes: DEMO.length });
  assert.not.ok(fs.existsSync(path.join(folder, 'cache', 'models--chasqui--demo-GGUF')));
  const gone = await run('rm', `${REPO}:Q4_K_M`);
  assert.equal([gone.code, gone.stdout], [5, '']);
  assert.match(
    gone.stderr,
    /^chasqui: Model chasqui\/demo-GGUF:Q4_K_M not found on this computer\. npx chasqui ls lists .*\.\n$/,
  );
});

test('short names, and a list for vague ones', async ({ run, hub, variables }) => {
  hub.put('bartowski/Llama-3.2-1B-Instruct-GGUF', {
    files: { 'l-Q4_K_M.gguf': DEMO, 'l-Q8_0.gguf': DEMO },
    gguf: GGUF,
  });
  hub.put('unsloth/vague-7B-GGUF', { files: { 'v-Q4_K_M.gguf': DEMO }, gguf: GGUF });
  const got = JSON.parse((await run('get', 'llama3.2:1b-q8_0', '--json')).stdout);
  assert.equal([got.model, got.state], ['bartowski/Llama-3.2-1B-Instruct-GGUF:Q8_0', 'completed']);
  const answer = await runCli(['run', 'llama3.2:1b-q8_0', 'Count from 3 to 9'], variables);
  assert.match(answer.stdout, '3, 4, 5, 6, 7, 8, 9');
  const unknown = await run('get', 'llama3.2:99b');
  assert.equal([unknown.code, unknown.stdout], [2, '']);
  assert.match(unknown.stderr, '`llama3.2:99b` is unknown. Known: llama3.2:3b, llama3.2:1b.');
  const vague = await run('get', 'vague');
  assert.equal([vague.code, vague.stdout], [2, '']);
  assert.is(
    vague.stderr,
    'chasqui: vague can be one of several models. Choose one:\n  npx chasqui get unsloth/vague-7B-GGUF\n',
  );
  await run('rm', 'bartowski/Llama-3.2-1B-Instruct-GGUF:Q8_0');
});

test('show, of a file and of a name', async ({ run }) => {
  const { code, stdout, stderr } = await run('show', demoModelPath);
  assert.equal([code, stderr], [0, '']);
  for (const line of ['architecture    llama', 'quantization    Q8_0', 'context length  2048', 'license         mit'])
    assert.match(stdout, new RegExp(`^${line}$`, 'm'));
  assert.match(stdout, /^capabilities {4}chat, tools, vision$/m);
  const facts = JSON.parse((await run('show', 'demo', '--json')).stdout);
  assert.equal([facts.size_bytes, facts.parameters], [DEMO.length, 1_600_160]);
  assert.is((await run('show', 'demo', '--template')).stdout, `${facts.chat_template}\n`);
  const missing = await run('show', 'nosuch');
  assert.equal([missing.code, missing.stdout], [5, '']);
  assert.match(missing.stderr, 'nosuch is no file, and no model on this computer');
});

test('a folder is not imported', async ({ run, folder }) => {
  const { code, stderr } = await run('import', folder);
  assert.equal([code, stderr], [1, `chasqui: Not a file: ${folder}. Name a GGUF file.\n`]);
});

test('other names of commands', async ({ run }) => {
  const usages = { pull: 'get|pull', list: 'ls|list', remove: 'rm|remove', delete: 'rm|remove' };
  for (const [name, usage] of Object.entries({ ...usages, 'keys ls': 'keys list|ls', 'secrets remove': 'rm|remove' })) {
    const { code, stdout } = await run(...name.split(' '), '--help');
    assert.equal([code, stdout.includes(`${usage} [options]`)], [0, true], name);
  }
});

test('import, by a copy and by a link; what rm frees is said', async ({ run, folder }) => {
  const file = path.join(folder, 'mine.gguf');
  fs.copyFileSync(demoModelPath, file);
  assert.match((await run('import', file, '--symlink')).stdout, /^mine is among the models:\n.*mine\.gguf\n$/);
  assert.is((await run('rm', 'mine')).stdout, 'mine is deleted, which frees 0 bytes.\n');
  assert.ok(fs.existsSync(file));
  const copied = JSON.parse((await run('import', file, '--json')).stdout);
  assert.equal([copied.id, copied.size_bytes, copied.source], ['mine', DEMO.length, 'folder']);
  assert.is((await run('rm', 'mine')).stdout, 'mine is deleted, which frees 1.8 MB.\n');
  // If a link stayed in place of the copy, deleting the original would delete the model.
  await run('import', file, '--symlink');
  const taken = await run('import', file);
  assert.equal([taken.code, taken.stdout], [1, '']);
  assert.match(taken.stderr, /mine\.gguf exists: delete that model, or rename the file\. --force replaces it\.\n$/);
  const { path: forced } = JSON.parse((await run('import', file, '--force', '--json')).stdout);
  assert.not.ok(fs.lstatSync(forced).isSymbolicLink());
  await run('rm', 'mine');
  fs.writeFileSync(path.join(folder, 'note.gguf'), 'no model');
  const refused = await run('import', path.join(folder, 'note.gguf'));
  assert.equal([refused.code, refused.stdout], [1, '']);
  assert.match(refused.stderr, /not a valid GGUF model/);
});

test('failures print the reason and advice in one line', async ({ run }) => {
  for (const [exit, args, says] of [
    [5, ['get', 'nothing/here'], /^chasqui: The hub has no model nothing\/here, or it is private\. .*HF_TOKEN\)\.\n$/],
    [5, ['get', `${REPO}:Q2_K`], /^chasqui: The repository has no `Q2_K`\. Available: Q8_0, Q4_K_M\.\n$/],
    [2, ['get', 'demo'], /^chasqui: `demo` is not a model name\. Use user\/repo/],
    [2, ['search', '--min-size', 'large'], /a number such as 8B/],
    [1, ['import', '/nowhere.gguf'], /^chasqui: File not found: \/nowhere\.gguf\.\n$/],
  ] as const) {
    const { code, stdout, stderr } = await run(...args);
    assert.equal([code, stdout], [exit, '']);
    assert.match(stderr, says);
    assert.not.match(stderr, /^\s+at /m);
  }
});

test('Ctrl-C pauses a download, and the same command resumes it', async ({ hub, variables, run }) => {
  hub.misbehaviour = { holds: { path: '.gguf', fromByte: 1_000_000 } };
  const child = startChild('ts/cli.ts', ['get', `${REPO}:Q8_0`], variables);
  await until(() => /downloading 1\.0 MB/.test(child.output.stderr), 'a megabyte has come', 60_000);
  child.process.kill('SIGINT');
  assert.is((await child.exited).code, 130);
  assert.match(child.output.stderr, /^chasqui: The download was stopped\. Run the same command again to resume\.$/m);
  hub.dropConnections();
  hub.misbehaviour = {};
  const listed = await run('ls');
  checkWidth(listed.stdout);
  assert.match(listed.stdout, /^UNFINISHED DOWNLOADS +SIZE\nchasqui\/demo-GGUF +1\.0 MB of 1\.8 MB\nTo resume one: /m);
  const sent = hub.sentBytes();
  assert.is((await run('get', `${REPO}:Q8_0`)).code, 0);
  assert.is(hub.sentBytes() - sent, DEMO.length - 1_000_000);
});

test('rm deletes an unfinished download, and not one that runs', async ({ hub, variables, run, folder }) => {
  await run('rm', REPO);
  await run('get', `${REPO}:Q8_0`);
  hub.put(REPO, { files: { 'demo-Q8_0.gguf': DEMO, 'demo-Q4_K_M.gguf': Buffer.concat([DEMO, DEMO]) }, gguf: GGUF });
  hub.misbehaviour = { holds: { path: 'Q4_K_M.gguf', fromByte: 1_000_000 } };
  const child = startChild('ts/cli.ts', ['get', `${REPO}:Q4_K_M`], variables);
  await until(() => /downloading 1\.0 MB/.test(child.output.stderr), 'a megabyte has come', 60_000);
  for (const args of [[REPO], ['--unfinished', REPO]]) {
    const refused = await run('rm', ...args);
    assert.equal([refused.code, refused.stdout], [1, '']);
    assert.match(refused.stderr, /demo-GGUF is being downloaded\. Stop the download first\.\n$/);
  }
  child.process.kill('SIGINT');
  await child.exited;
  hub.dropConnections();
  hub.misbehaviour = {};
  assert.match(
    (await run('rm', '--unfinished', REPO)).stdout,
    /^unfinished .*demo-GGUF is deleted, which frees 1\.0 MB\.\n$/,
  );
  assert.equal((await run('rm', '--unfinished', REPO)).code, 5);
  const { stdout } = await run('ls');
  assert.match(stdout, /^chasqui\/demo-GGUF:Q8_0 /m);
  assert.not.match(stdout, 'UNFINISHED');
  assert.is((await run('get', `${REPO}:Q4_K_M`)).code, 0);
  const removed = await run('rm', REPO.toUpperCase());
  assert.is(removed.stdout, `${REPO}:Q4_K_M, ${REPO}:Q8_0 are deleted, which frees 5.3 MB.\n`);
  assert.not.ok(fs.existsSync(path.join(folder, 'cache', 'models--chasqui--demo-GGUF')));
});

test('the line of a terminal has room for names of any length', () => {
  const job = {
    id: 'dl_1',
    model: 'someone/a-model-whose-name-does-not-end-where-one-would-wish-GGUF:Q4_K_M',
    state: 'downloading',
    totalBytes: 42e9,
    downloadedBytes: 21.2e9,
    bytesPerSecond: 34.5e6,
    secondsLeft: 605,
    error: null,
    startedAt: 0,
    finishedAt: null,
    path: null,
  } as const;
  const lines = [
    progressLine(job),
    progressLine({ ...job, model: 'a/b:Q8_0', state: 'verifying' }),
    progressLine({ ...job, bytesPerSecond: null, secondsLeft: null, totalBytes: 0, downloadedBytes: 0 }),
  ];
  for (const line of lines) assert.ok([...line].length < 80, line);
  assert.match(lines[0] ?? '', /^someone.*….*Q4_K_M .* 50 % {2}21 GB of 42 GB {2}35 MB\/s {2}10 min 5 s$/);
  assert.match(lines[1] ?? '', /^a\/b:Q8_0 \[#{7}-{7}\] {2}50 % .* verifying$/);
});

test.run();
