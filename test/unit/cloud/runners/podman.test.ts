// Checks of podman before a cloud starts, with a fake podman.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Podman } from '../../../../ts/cloud/runners/podman.js';

const test = suite('cloud: podman');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-podman-'));
const CONTROLLERS = ['memory', 'pids', 'cpu'];
const before = process.env.PATH;

test.before(() => {
  process.env.PATH = `${folder}:${before}`;
});
test.after(() => {
  process.env.PATH = before;
  fs.rmSync(folder, { recursive: true });
});

/** The refusal for this `podman info` and no image. */
async function refusal(host: object): Promise<string> {
  fs.writeFileSync(path.join(folder, 'info'), JSON.stringify({ host }));
  const script = `#!/bin/sh\ncase "$*" in *info*) cat '${folder}/info' ;; *) exit 1 ;; esac\n`;
  fs.writeFileSync(path.join(folder, 'podman'), script, { mode: 0o755 });
  return new Podman('localhost/nothing').check().then(
    () => assert.unreachable('it was not refused'),
    (error) => error.message,
  ) as Promise<string>;
}

test('an image that is missing is named, and what the account lacks to have one', async () => {
  const security = { rootless: true };
  const some = [{ size: 1 }, { size: 65536 }];
  const has = await refusal({ cgroupControllers: CONTROLLERS, security, idMappings: { uidmap: some } });
  assert.match(has, /no image localhost\/nothing\. .*`runnerImage`\.$/);
  const lacks = await refusal({ cgroupControllers: CONTROLLERS, security, idMappings: { uidmap: [{ size: 1 }] } });
  assert.match(
    lacks,
    /\/etc\/subuid and \/etc\/subgid, which unpacking an image needs: usermod --add-subuids .* podman system migrate\.$/,
  );
  assert.not.match(await refusal({ cgroupControllers: CONTROLLERS, idMappings: {} }), 'subuid');
});

test('an account that may not limit containers is told who gives it that', async () => {
  const host = { cgroupControllers: ['memory', 'pids'], security: { rootless: true } };
  assert.match(
    await refusal({ ...host, cgroupVersion: 'v2' }),
    /controllers cpu are missing for this account\. Delegate/,
  );
  assert.match(await refusal({ ...host, cgroupVersion: 'v1' }), /Rootless limits need cgroups v2/);
  assert.match(await refusal({ cgroupControllers: [] }), /controllers memory, pids, cpu are missing\.$/);
});

test('without files left a command is refused, and the process lives', () => {
  const file = path.join(folder, 'asking.mts');
  fs.writeFileSync(
    file,
    `import { openSync } from 'node:fs';
    import { Podman } from '${new URL('../../../../ts/cloud/runners/podman.ts', import.meta.url)}';
    try {
      for (;;) openSync('/dev/null', 'r');
    } catch {}
    await new Podman().run(['ps']).catch(({ code }) => console.log(code));
    setTimeout(() => console.log('lives'), 50);`,
  );
  const command = [process.execPath, ...process.execArgv, file];
  const { stdout, stderr } = spawnSync('sh', ['-c', 'ulimit -n 128; exec "$@"', 'sh', ...command], {
    encoding: 'utf8',
  });
  assert.is(stdout, 'too_many_open_files\nlives\n', stderr);
});

test.run();
