import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { HOSTING_OPTIONS } from '../../ts/cli/options/hosting-option-table.js';
import { LOAD_OPTIONS } from '../../ts/options/load-option-table.js';
import type { OptionRow } from '../../ts/options/option-row.js';
import { callCli } from '../support/call-cli.js';
import { runCli } from '../support/child.js';

const test = suite('cli: arguments');

type Row = [args: string[], says: RegExp];

const REFUSED: Row[] = [
  [['serve', '--port', '65536'], /--port.*from 0 to 65535/],
  [['serve', '--port', '-1'], /--port.*from 0 to 65535/],
  [['serve', '--ctx-size', '1'], /--ctx-size.*whole number of tokens from 16 to/],
  [['serve', '--parallel', '1.5'], /--parallel.*whole number from 1 to 256/],
  [['serve', '--threads', '1e3'], /--threads.*whole number from 1 to 512/],
  [['serve', '--body-limit', '64MB'], /--body-limit.*whole number of MiB from 1 to/],
  [['serve', '--model'], /--model <path>.*missing/],
  [
    ['serve', '--model', 'a', '--model-url', 'b'],
    /'-m, --model <path>' cannot be used with option '--model-url <url>'/,
  ],
  [['serve', '--model', 'a', '--hf', 'b/c'], /'-m, --model <path>' cannot be used with option '--hf <user\/repo/],
  [['serve', '-hf', 'nothing'], /`nothing` is not a model name\. Use user\/repo/],
  [['serve', '--modl', 'x'], /unknown option '--modl'/],
  [['serve', 'one.gguf', 'two.gguf'], /too many arguments/],
  [['serve', '--mode', 'cloud'], /--mode.*runtime, desktop or serverless/],
  [['serve', '--mode', 'serverless'], /needs --org <org_id> and --app <app_id>/],
  [['serve', '--mode', 'serverless', '--org', 'a/b', '--app', 'c'], /`a\/b` cannot be part of a URL path/],
  [['serve', '--mode', 'serverless', '--org', 'a', '--app', 'c', '--auth', 'shared'], /--auth.*private or public/],
  [
    ['serve', '--org', 'a'],
    /--org, --app, --auth, --keys-file and --app-models are for --mode serverless, not for runtime mode/,
  ],
  [
    ['serve', ...['--mode', 'serverless', '--org', 'a', '--app', 'b'], '--app-models', 'none.json'],
    /--app-models cannot be read: .*none\.json/,
  ],
  [
    ['serve', ...['--mode', 'serverless', '--org', 'a', '--app', 'b'], '--app-models', 'package.json'],
    /--app-models is .*package\.json, which is not a JSON array of models/,
  ],
  [
    ['serve', ...['--mode', 'serverless', '--org', 'a', '--app', 'b'], '--app-models', 'package.json', '--hf', 'a/b'],
    /--app-models names all models of the app: leave --hf out/,
  ],
  [['serve', '--mode', 'desktop', '--auth', 'private'], /--app-models are for --mode serverless, not for desktop mode/],
  [['serve', '--cors-origin', 'https://a.example/'], /--cors-origin.*without a path/],
  [['serve', '--cors-origin', 'a.example'], /--cors-origin.*scheme:\/\/host/],
  [['serve', '--stall-timeout', 'soon'], /--stall-timeout.*whole number/],
  [['serve', '--gpu-layers', 'most'], /--gpu-layers.*whole number from 0 to \d+, auto or all/],
  [['serve', '-ngl', '-1'], /--gpu-layers.*whole number from 0 to \d+, auto or all/],
  [['serve', '--split-mode', 'tensor'], /--split-mode.*none, layer or row/],
  [['serve', '--main-gpu', 'first'], /--main-gpu.*whole number/],
  [['serve', '--tensor-split', '3,'], /--tensor-split.*numbers separated by commas/],
  [['serve', '--tensor-split', '0,0'], /--tensor-split.*not all 0/],
  [['serve', '--device', 'none,CUDA0', '--port', '0'], /--device is none,CUDA0/],
  [['serve', '--fit-target', '1GB'], /--fit-target.*whole number/],
  [['serve', '--shutdown-timeout', '-1'], /--shutdown-timeout.*seconds from 0/],
  [['serve', '--metrics-names', 'tgi'], /--metrics-names.*vllm or llamacpp/],
  [['serve', '--log-format', 'xml'], /--log-format.*auto, json or text/],
  [['serve', '--log-level', 'loud'], /--log-level.*debug, info, warn, error or silent/],
  [['serve', '--prepare-timeout', '0'], /--prepare-timeout.*seconds from 1 to 1000000/],
  [['serve', '--host', '127.0.0.1,', '--port', '0'], /--host must be addresses separated by commas/],
  [['keys', 'make'], /unknown command 'make'/],
];

/** In processes of their own: the last one does not take the fast path of `serve`. */
const REFUSED_BY_PROCESS: Row[] = [
  [['serve', '--port', 'abc'], /--port.*'abc' is invalid.*from 0 to 65535/],
  [['serve', '-v', '--no-jinja', '--no-slots', '-hff', 'a.gguf', '--port', '0'], /--hf-file needs --hf/],
  [['server'], /unknown command 'server'/],
];

const FAILED: Row[] = [
  [['serve', '--model-url', 'ftp://a.example/b.gguf'], /from ftp:.*start with https.*end in \.gguf/],
  [['serve', '--host', '127.0.0.1,192.0.2.1', '--port', '0'], /192\.0\.2\.1 is not an address of this machine/],
  [['serve', '--host', '192.0.2.1', '--port', '0'], /192\.0\.2\.1 is not an address of this machine.*--host/],
];

for (const [args, says, exit, run] of [
  ...REFUSED.map((row) => [...row, 2, callCli] as const),
  ...REFUSED_BY_PROCESS.map((row) => [...row, 2, runCli] as const),
  ...FAILED.map((row) => [...row, 1, runCli] as const),
]) {
  test(`refuses: ${args.join(' ')}`, async () => {
    const { code, stdout, stderr } = await run(args);
    assert.is(code, exit);
    assert.is(stdout, '');
    assert.match(stderr, says);
    assert.not.match(stderr, /^\s+at /m);
  });
}

test('help explains every option, with its default, under headings and within 80 columns', async () => {
  const { code, stdout } = await callCli(['serve', '--help']);
  assert.is(code, 0);
  assert.equal(
    stdout.split('\n').filter((line) => line.length > 80),
    [],
  );
  const rows: OptionRow[] = [...Object.values(HOSTING_OPTIONS), ...Object.values(LOAD_OPTIONS)];
  for (const { group } of rows) assert.match(stdout, new RegExp(`^${group.replace(/[()]/g, '\\$&')}:$`, 'm'));
  for (const { flag } of rows.filter((row) => row.flag !== null)) {
    const explained = `^  (-\\w, )?${flag} [^(]*(\\(CUDA\\)[^(]*)?\\((choices:\\s+[^)]*;\\s+)?default:\\s`;
    assert.match(stdout, new RegExp(explained, 'm'), String(flag));
  }
  assert.not.match(stdout, '--image-cache-mb');
  assert.not.match(stdout, '`');
});

test('the commands are listed', async () => {
  const { code, stdout } = await callCli(['--help']);
  assert.is(code, 0);
  assert.match(stdout, /serve \[options\]/);
  assert.match(stdout, /keys /);
});

test('the version is the one of the package, with the release of llama.cpp', async () => {
  const { code, stdout } = await runCli(['--version']);
  assert.is(code, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+ \(llama\.cpp v\d+\.\d+\.\d+\)\n$/);
  const json = JSON.parse((await callCli(['version', '--json'])).stdout);
  assert.is(stdout, `${json.version} (llama.cpp ${json.llama_cpp})\n`);
});

test.run();
