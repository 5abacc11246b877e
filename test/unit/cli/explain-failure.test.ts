import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { explainFailure } from '../../../ts/cli/errors/explain-failure.js';

const test = suite('unit: why a command failed');

function failureOf(code: string, syscall: string, more: object = {}): Error {
  return Object.assign(new Error(`${code}: permission denied, ${syscall}`), { code, syscall, ...more });
}

test('a folder that may not be written has nothing to do with a port', () => {
  for (const code of ['EACCES', 'EPERM', 'EROFS']) {
    const said = explainFailure(failureOf(code, 'mkdir', { path: '/models' }), { host: '127.0.0.1', port: 8080 });
    assert.is(said, 'this account may not access /models; grant it permission, or choose another path');
  }
  assert.match(explainFailure(failureOf('EACCES', 'connect')), /^it failed: EACCES: permission denied, connect/);
});

test('a port that may not be used, and one in use, are named with the flag that chooses another', () => {
  const tried = { host: '127.0.0.1', port: 80 };
  assert.match(
    explainFailure(failureOf('EACCES', 'listen'), tried),
    /^this account may not use port 80; .* with --port$/,
  );
  assert.match(
    explainFailure(failureOf('EADDRINUSE', 'listen'), { ...tried, portFlag: '--app-port' }),
    /^port 80 at 127\.0\.0\.1 is in use; .* with --app-port$/,
  );
});

test('a name that is not found is no address to listen at where nothing listens', () => {
  const error = failureOf('ENOTFOUND', 'getaddrinfo', { hostname: 'hub.example' });
  assert.match(explainFailure(error), /^it failed: ENOTFOUND/);
  assert.match(explainFailure(error, { host: 'hub.example' }), /^hub\.example is not an address of this machine/);
});

test.run();
