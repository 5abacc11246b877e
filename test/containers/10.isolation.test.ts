// Runners in containers: what they can see and do, and that all that holds for processes holds for them.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startChild, untilWritten } from '../support/child.js';
import { TestCloud, writeScript } from '../support/cloud.js';
import { buildImage, hasContainer, IMAGE, inspect, podman } from '../support/container-image.js';
import { demoModelPath } from '../support/demo-model.js';
import { isAlive } from '../support/engine-process.js';
import { until } from '../support/until.js';

const test = suite('containers: isolation');
const ISOLATED = ['--isolation', 'podman', '--runner-image', IMAGE];
/** A model without a projector, so runners do not fetch images. */
const model = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-plain-')), 'plain.gguf');
const KEPT = {
  ...{ model: `file:${model}`, alias: 'chasqui-demo' },
  scale: { min: 1 },
  machine: { memory: '1Gi', cpu: 1 },
};
const LONG = [{ role: 'user', content: 'Count from 1 to 60.' }];
let cloud: TestCloud;

test.before(async () => {
  buildImage();
  fs.copyFileSync(demoModelPath, model);
  cloud = await TestCloud.start(ISOLATED);
});
test.after(async () => {
  assert.equal(await cloud.stop(), { code: 0, signal: null });
  assert.is(podman('ps', '--all', '--filter=label=chasqui.cloud', '--format={{.Names}}'), '');
  fs.rmSync(path.dirname(model), { recursive: true });
});

async function runnerOf(app: string): Promise<{ id: string; pid: number; container: string }> {
  await cloud.untilApp(app, ({ ready, runners }) => ready === 1 && runners.length === 1);
  const [runner] = (await cloud.status(app)).runners;
  assert.is(runner?.isolation, 'podman');
  return { id: runner?.id ?? '', pid: runner?.pid as number, container: `chasqui-${runner?.id}` };
}

/** Runs a script of Node in a container, and says what it prints. */
function within(container: string, script: string): string {
  return podman('exec', container, 'node', '--input-type=module', '--eval', script);
}

async function untilServed(app: string): Promise<void> {
  assert.is((await cloud.post(app, { max_tokens: 2 })).status, 200);
}

test('an app is deployed and called, and its runner is a process of this machine with a number', async () => {
  await cloud.deployed('chat', KEPT);
  await untilServed('chat');
  const { id, pid } = await runnerOf('chat');
  assert.ok(fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(id));
  assert.match(cloud.child.output.stderr, /runners use podman containers \(not rootless, because/);
});

test('a container has limits, no capabilities and no way to more of them', async () => {
  const { pid, container } = await runnerOf('chat');
  type Known = { HostConfig: Record<string, unknown>; EffectiveCaps: string[] | null };
  const { HostConfig: host, EffectiveCaps: capabilities } = inspect<Known>(container);
  assert.is(host.Memory, 2 ** 30);
  assert.is(host.MemorySwap, 2 ** 30);
  assert.is(host.NanoCpus, 2e9);
  assert.is(host.PidsLimit, 2048);
  assert.is(host.ReadonlyRootfs, true);
  assert.is(host.NetworkMode, 'none');
  assert.equal(capabilities ?? [], []);
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  assert.match(status, /^CapEff:\s+0+$/m);
  assert.match(status, /^CapBnd:\s+0+$/m);
  assert.match(status, /^NoNewPrivs:\s+1$/m);
  assert.match(status, /^Seccomp:\s+2$/m);
});

test('it can write to its own folder and to /tmp, and nowhere else', async () => {
  const { container } = await runnerOf('chat');
  const tried = within(
    container,
    `import fs from 'node:fs';
     const tried = (folder) => { try { fs.writeFileSync(folder + '/x', ''); fs.rmSync(folder + '/x'); return 'written' }
       catch ({ code }) { return code } };
     console.log(JSON.stringify(['/tmp', '/', '/app', '/etc', '/root', '/var/tmp', '/dev/shm', '/run'].map(tried)));
     try { fs.appendFileSync(${JSON.stringify(model)}, ''); console.log('changed'); }
     catch ({ code }) { console.log(code); }`,
  );
  const readOnly = Array(5).fill('EROFS');
  const [folders = '', weights] = tried.split('\n');
  const [tmp, root, ...others] = JSON.parse(folders);
  assert.equal([tmp, root, ...others.filter((each: string) => each === 'EROFS')].slice(0, 6), ['written', ...readOnly]);
  assert.is(weights, 'EROFS');
});

test('it sees no network, no other runner, and neither the database nor the secrets of the cloud', async () => {
  const { container } = await runnerOf('chat');
  await cloud.deployed('other', KEPT);
  const other = await runnerOf('other');
  const seen = within(
    container,
    `import fs from 'node:fs'; import os from 'node:os';
     const there = ${JSON.stringify([cloud.home, path.join(cloud.home, 'cloud', 'cloud.db')])}.map((file) =>
       fs.existsSync(file) && fs.statSync(file).isFile());
     const names = fs.readdirSync(${JSON.stringify(path.join(cloud.home, 'cloud', 'run'))});
     const processes = fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name)).length;
     console.log(JSON.stringify({ networks: Object.keys(os.networkInterfaces()), there, names, few: processes < 20 }));`,
  );
  const { networks, there, names, few } = JSON.parse(seen);
  assert.equal(networks, ['lo']);
  assert.equal(there, [false, false]);
  assert.ok(!names.some((name: string) => name.includes(other.id)), names);
  assert.ok(few);
  await cloud.cli('apps', 'delete', 'other');
  await until(() => !hasContainer(other.container), 'the end of the other container');
});

test('a secret is in the runner and not in what podman keeps of it', async () => {
  // Podman would end with this one in its own environment.
  await cloud.cli('secrets', 'set', 'CONTAINERS_CONF', '/nowhere/secret-value.conf');
  await cloud.deployed('secret', { ...KEPT, secrets: ['CONTAINERS_CONF'] });
  const { container, pid } = await runnerOf('secret');
  assert.not.match(JSON.stringify(inspect(container)), 'secret-value');
  assert.not.match(fs.readFileSync(`/proc/${pid}/environ`, 'utf8'), 'secret-value');
  const children = within(
    container,
    `import fs from 'node:fs';
     const all = fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && Number(name) !== process.pid);
     console.log(all.some((pid) => fs.readFileSync('/proc/' + pid + '/environ', 'utf8').includes('secret-value')));`,
  );
  // The engine is started with it.
  assert.is(children, 'true');
  await cloud.cli('apps', 'delete', 'secret');
});

test('the output of the container is in the logs', async () => {
  const { stdout } = await cloud.cli('apps', 'logs', 'chat', '--json');
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).text);
  assert.ok(lines.length > 0);
});

test('one that is killed is replaced, and nothing is left of it', async () => {
  const { pid, id, container } = await runnerOf('chat');
  process.kill(pid, 'SIGKILL');
  await cloud.untilApp('chat', ({ runners }) => runners.every((each) => each.id !== id));
  await untilServed('chat');
  const events = await cloud.events('chat');
  assert.ok(events.some(({ state, reason, runner }) => runner === id && state === 'CRASHED' && /SIGKILL/.test(reason)));
  await until(() => !hasContainer(container), 'the end of the container');
  assert.equal(
    fs.readdirSync(path.join(cloud.home, 'cloud', 'run')).filter((name) => name.startsWith(id)),
    [],
  );
});

test('a control plane that was killed finds its containers again, and can end them', async () => {
  const before = await runnerOf('chat');
  await cloud.kill();
  assert.ok(isAlive(before.pid));
  await cloud.begin(ISOLATED);
  assert.equal(await runnerOf('chat'), before);
  await untilServed('chat');
  const events = await cloud.events('chat');
  assert.is(events.at(-1)?.reason, 'found after a restart of the control plane');
  await cloud.cli('runners', 'stop', before.id);
  await until(() => !hasContainer(before.container), 'the end of the container');
  assert.is.not((await runnerOf('chat')).id, before.id);
});

test('also one that was started with processes finds them', async () => {
  const before = await runnerOf('chat');
  await cloud.kill();
  await cloud.begin();
  assert.equal(await runnerOf('chat'), before);
  await untilServed('chat');
  await cloud.kill();
  await cloud.begin(ISOLATED);
});

test('a stream that runs is finished while its runner drains', async () => {
  const { id, container } = await runnerOf('chat');
  const response = await cloud.post('chat', { max_tokens: 400, stream: true, messages: LONG });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = decoder.decode((await reader.read()).value, { stream: true });
  await cloud.client.delete(`/runners/${id}`);
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value);
  assert.match(text, /"finish_reason":"(stop|length)"/);
  assert.match(text, /data: \[DONE\]\s*$/);
  // The container is gone before the control plane has heard of it.
  await until(() => !hasContainer(container), 'the end of the container');
  const last = async () => (await cloud.events('chat')).filter(({ runner }) => runner === id).at(-1);
  await until(async () => (await last())?.state === 'STOPPED', 'the end of the runner');
  assert.is((await last())?.reason, 'it ended with exit code 0');
});

const GROWING =
  '{% set ns = namespace(t="xxxxxxxx") %}{% for i in range(30) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}';

test('only the container out of memory ends, and its reason names the memory', async () => {
  const { revision } = await cloud.deploy('small', { chatTemplate: GROWING, machine: { memory: '260Mi' } });
  await cloud.untilRevision('small', revision, 'failed');
  const { revisions } = await cloud.status('small');
  // The kernel chooses: the whole runner, or the process in it that loads the model.
  const reason = revisions.at(-1)?.reason ?? '';
  assert.match(reason, /^it ran out of memory: its limit is 260 MiB|memory ran out/, `the reason is: ${reason}`);
  await untilServed('chat');
  // conmon writes this file into its working directory.
  assert.not(fs.existsSync('oom'));
});

test('containers of a control plane that is gone are removed by the next, and those of others stay', async () => {
  const { container } = await runnerOf('chat');
  const own = podman('container', 'inspect', '--format={{index .Config.Labels "chasqui.cloud"}}', container);
  const make = (cloudId: string, name: string) =>
    podman('create', `--name=${name}`, `--label=chasqui.cloud=${cloudId}`, '--label=chasqui.runner=r0', IMAGE);
  make(own, 'chasqui-test-own');
  make('another', 'chasqui-test-other');
  try {
    await cloud.kill();
    await cloud.begin(ISOLATED);
    assert.not.ok(hasContainer('chasqui-test-own'));
    assert.ok(hasContainer('chasqui-test-other'));
    assert.is((await runnerOf('chat')).container, container);
  } finally {
    podman('rm', '--force', 'chasqui-test-other');
  }
});

test('a container ends with the command `run`, even when that is killed', async () => {
  const script = writeScript(`export const chat = app({ model: 'demo', context: 512 });`);
  const child = startChild('ts/cli.ts', ['run', `${script}::chat`, '--json', ...ISOLATED]);
  const [, line = ''] = await untilWritten(child, /^(\{.*"url".*\})$/m);
  const { url, key, model: name } = JSON.parse(line);
  const reply = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: name, prompt: 'Hi', max_tokens: 2 }),
  });
  assert.is(reply.status, 200);
  const running = () => podman('ps', '--filter=label=chasqui.brief', '--format={{.Names}}');
  assert.match(running(), /^chasqui-r/);
  child.process.kill('SIGKILL');
  await until(() => running() === '', 'the end of the container');
  // The next cloud removes the leftovers from podman.
  await cloud.kill();
  await cloud.begin(ISOLATED);
  assert.is(podman('ps', '--all', '--filter=label=chasqui.brief', '--format={{.Names}}'), '');
});

test('missing prerequisites are reported before anything starts', async () => {
  const start = (args: string[], more: NodeJS.ProcessEnv = {}) => {
    const started = startChild('ts/cli.ts', ['cloud', 'start', '--port', '0', ...args], {
      ...cloud.variables,
      ...more,
    });
    return started.exited.then(({ code }) => ({ code, stderr: started.output.stderr }));
  };
  const noImage = await start(['--isolation', 'podman', '--runner-image', 'localhost/nothing-of-this-name']);
  assert.is(noImage.code, 2);
  assert.match(
    noImage.stderr,
    /This account has no image localhost\/nothing-of-this-name.*Containerfile.*--runner-image/s,
  );
  const other = await start(['--isolation', 'podman', '--runner-image', 'localhost/chasqui-base']);
  assert.is(other.code, 2);
  assert.match(other.stderr, /--isolation is podman, but podman cannot start a container/);
  const noPodman = await start(ISOLATED, { PATH: path.dirname(process.execPath) === '/usr/bin' ? '/nowhere' : '' });
  assert.is(noPodman.code, 2);
  assert.match(noPodman.stderr, /podman is not installed, or not in the PATH/);
  const unneeded = await start(['--runner-image', IMAGE]);
  assert.is(unneeded.code, 2);
  assert.match(unneeded.stderr, /--runner-image is for containers/);
});

test.run();
