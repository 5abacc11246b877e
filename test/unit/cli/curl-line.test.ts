import { execFileSync, execSync } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { baseUrl, curlLine } from '../../../ts/cli/output/curl-line.js';

const test = suite('unit: the curl line');

test('the address is one that can be reached', () => {
  assert.is(baseUrl('127.0.0.1', 8080), 'http://127.0.0.1:8080');
  assert.is(baseUrl('0.0.0.0', 1), 'http://127.0.0.1:1');
  assert.is(baseUrl('::', 1), 'http://[::1]:1');
  assert.is(baseUrl('example.org', 1), 'http://example.org:1');
});

test('a plain one reads well', () => {
  assert.is(
    curlLine('http://127.0.0.1:8080', 'demo', 'linux'),
    "curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' " +
      '-d \'{"model":"demo","messages":[{"role":"user","content":"Hello!"}]}\'',
  );
});

test('one for a private deployment has the header that it takes', () => {
  const line = curlLine('http://x/acme/chat', 'demo', 'linux', { scheme: 'Key' });
  assert.match(line, "curl http://x/acme/chat/v1/chat/completions -H 'Authorization: Key <API_KEY>' -H 'Content-Type");
});

test('a model that only encodes is asked for what it can do', () => {
  assert.match(
    curlLine('http://x', 'demo', 'linux', { asks: 'embeddings' }),
    /^curl http:\/\/x\/v1\/embeddings .*"input":"Hello!"/,
  );
  assert.match(
    curlLine('http://x', 'demo', 'linux', { asks: 'rerank' }),
    /^curl http:\/\/x\/v1\/rerank .*"documents":\[/,
  );
});

if (process.platform !== 'win32') {
  test('a shell hands on exactly what was meant', () => {
    for (const model of ['demo', `it's "quoted" $HOME \`ls\` \\ *`, 'ñandú 🚀', '--data']) {
      const line = curlLine('http://[::1]:8080', model, 'linux').replace(/^curl/, 'printf "%s\\0"');
      const words = execFileSync('sh', ['-c', line], { encoding: 'utf8' }).split('\0').slice(0, -1);
      assert.equal(words.slice(0, -1), [
        'http://[::1]:8080/v1/chat/completions',
        '-H',
        'Content-Type: application/json',
        '-d',
      ]);
      assert.is(JSON.parse(words.at(-1) ?? '').model, model);
    }
  });
}

test('cmd.exe knows no single quotes', () => {
  const line = curlLine('http://x', 'demo', 'win32');
  assert.match(line, /-d "\{\\"model\\":\\"demo\\",/);
  if (process.platform !== 'win32') return;
  const print = line.replace(/^curl/, `"${process.execPath}" -p JSON.stringify(process.argv) --`);
  const words = JSON.parse(execSync(print, { encoding: 'utf8' }));
  assert.is(JSON.parse(words.at(-1)).model, 'demo');
  assert.is(words.at(-3), 'Content-Type: application/json');
});

test.run();
