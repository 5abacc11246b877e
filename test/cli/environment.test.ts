import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callCli } from '../support/call-cli.js';
import { runCli, startChild, untilWritten } from '../support/child.js';

const test = suite('cli: environment');

const REFUSED: [variables: Record<string, string>, says: RegExp][] = [
  [{ CHASQUI_PARALLEL: 'many' }, /CHASQUI_PARALLEL is 'many', but must be a whole number from 1 to 256/],
  [{ CHASQUI_BACKEND: 'gpu' }, /CHASQUI_BACKEND is 'gpu', but must be auto, cuda/],
  [{ CHASQUI_STRICT: 'yes' }, /CHASQUI_STRICT is 'yes', but must be 1, 0, true or false/],
  [{ CHASQUI_PREPARE_TIMEOUT: '0' }, /CHASQUI_PREPARE_TIMEOUT.*seconds from 1 to 1000000/],
  [{ CHASQUI_MODEL: 'a', CHASQUI_MODEL_URL: 'b' }, /CHASQUI_MODEL and CHASQUI_MODEL_URL exclude each other/],
  [{ CHASQUI_MODE: 'serverless' }, /needs --org <org_id> and --app <app_id>/],
];

for (const [variables, says] of REFUSED) {
  test(`refuses ${JSON.stringify(variables)}`, async () => {
    const { code, stdout, stderr } = await runCli(['serve'], variables);
    assert.is(code, 2);
    assert.is(stdout, '');
    assert.match(stderr, says);
    assert.match(stderr, /^chasqui: [^\n]*\n$/);
  });
}

test('serve takes its options from the environment, and flags before them', async () => {
  const variables = {
    CHASQUI_PORT: '0',
    CHASQUI_ALIAS: 'from-the-environment',
    CHASQUI_CTX_SIZE: '512',
    CHASQUI_PARALLEL: '2',
    CHASQUI_THREADS: '1',
    CHASQUI_STRICT: 'true',
  };
  const child = startChild('ts/cli.ts', ['serve', '--parallel', '3'], variables);
  const [, base] = await untilWritten(child, /^Serving from-the-environment at (http:\S+\/v1)$/m);
  const { data } = (await (await fetch(`${base}/models`)).json()) as { data: { context_length: number }[] };
  assert.is(data[0]?.context_length, 512);
  const health = await (await fetch(new URL('/health', base))).json();
  assert.is((health as { kv_cells_total: number }).kv_cells_total, 3 * 512);
  const body = JSON.stringify({
    model: 'from-the-environment',
    messages: [{ role: 'user', content: 'Hi' }],
    surprise: 1,
  });
  const headers = { 'content-type': 'application/json' };
  assert.is((await fetch(`${base}/chat/completions`, { method: 'POST', headers, body })).status, 400);
  child.process.kill('SIGTERM');
  assert.equal(await child.exited, { code: 0, signal: null }, child.output.stderr);
});

test('misspelt variables are named, and those of other programs are not', async () => {
  const variables = {
    CHASQUI_CTX_SZE: '512',
    CHASQUI_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
    CHASQUI_SERVICE_HOST: '10.0.0.1',
    CHASQUI_SERVICE_PORT: '8080',
    CHASQUI_FAVOURITE_COLOUR: 'red',
  };
  const says = 'chasqui: unknown variable CHASQUI_CTX_SZE; did you mean CHASQUI_CTX_SIZE?\n';
  assert.is((await callCli(['ls'], variables)).stderr, says);
  const served = await runCli(['serve', '-m', '/nowhere.gguf', '--port', '0'], variables);
  assert.ok(served.stderr.startsWith(says), served.stderr);
  assert.match(served.stderr.slice(says.length), /^chasqui: \/nowhere.gguf is not a readable file [^\n]*\n$/);
});

test('ls names a folder that it cannot read', async () => {
  const { code, stdout, stderr } = await callCli(['ls'], { CHASQUI_HOME: '/dev/null' });
  assert.is(code, 1);
  assert.is(stdout, '');
  assert.match(stderr, /^chasqui: cannot read the models in \/dev\/null\/models: ENOTDIR: not a directory\n$/);
});

test('keys are kept where CHASQUI_HOME says', async () => {
  const { code, stderr } = await callCli(['keys', 'list'], { CHASQUI_HOME: '/dev/null/nowhere' });
  assert.is(code, 1);
  assert.match(stderr, '/dev/null/nowhere');
});

test.run();
