// Another account of the machine can neither receive secrets nor prepare the folder for sockets.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { placesIn } from '../../ts/cloud/places.js';
import { TestCloud } from '../support/cloud.js';

const test = suite('cloud: other accounts');
const NOBODY = 65_534;
const asRoot = process.platform === 'linux' && process.getuid?.() === 0 ? test : test.skip;

/** Listens on the port, replies with 200 to all requests, and prints them. */
const LISTENER = `
  const reply = (request, response) => {
    console.log(request.method, request.url, request.headers.authorization);
    request.pipe(process.stdout);
    response.end('{}');
  };
  require('node:http').createServer(reply).listen(Number(process.argv[1]), '127.0.0.1', () => console.log('listening'));
`;

asRoot('secrets do not go to another account that listens on the port of a killed cloud', async () => {
  const cloud = await TestCloud.start();
  const { port } = new URL(cloud.url);
  assert.is((await cloud.cli('secrets', 'set', 'MINE', 'value')).code, 0);
  await cloud.kill();
  // The account may not read the files that NODE_OPTIONS imports.
  const account = { uid: NOBODY, gid: NOBODY, cwd: '/', env: {} };
  const other = spawn(process.execPath, ['-e', LISTENER, port], { ...account, stdio: ['ignore', 'pipe', 'inherit'] });
  let heard = '';
  other.stdout.on('data', (data) => {
    heard += data;
  });
  try {
    await Promise.race([once(other.stdout, 'data'), once(other, 'exit')]);
    assert.is(heard, 'listening\n');
    const { code, stderr } = await cloud.cli('secrets', 'set', 'MINE', 'value-for-the-cloud');
    assert.is(code, 3, stderr);
    assert.match(stderr, 'no cloud is running here');
    assert.is(heard, 'listening\n');
  } finally {
    other.kill();
    if (other.exitCode === null && other.signalCode === null) await once(other, 'exit');
    fs.rmSync(cloud.home, { recursive: true, force: true });
  }
});

asRoot('a folder for sockets that another account has made is refused and not changed', async () => {
  // Too long for sockets, so they are in the folder for temporary files.
  const home = path.join(os.tmpdir(), `chasqui-${'long-'.repeat(16)}${process.pid}`);
  const { run } = placesIn(home);
  const target = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-target-'));
  fs.chmodSync(target, 0o755);
  fs.symlinkSync(target, run);
  fs.lchownSync(run, NOBODY, NOBODY);
  const cloud = new TestCloud();
  try {
    const { code, stderr } = await cloud.cli('cloud', 'start', '--port', '0', '--data-dir', home);
    assert.is(code, 2);
    assert.match(stderr, `Another account owns ${run}`);
    assert.is(fs.statSync(target).mode & 0o777, 0o755);
  } finally {
    for (const each of [run, target, home, cloud.home]) fs.rmSync(each, { recursive: true, force: true });
  }
});

test.run();
