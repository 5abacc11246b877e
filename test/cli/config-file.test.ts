import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { toConfigFile, withConfigFile } from '../../ts/cli/options/config-file.js';
import { HOSTING_OPTIONS } from '../../ts/cli/options/hosting-option-table.js';
import { LOAD_OPTIONS } from '../../ts/options/load-option-table.js';
import { runCli } from '../support/child.js';

const test = suite<{ folder: string; write(text: string): string }>('cli: configuration file');
test.before((context) => {
  context.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-config-'));
  context.write = (text) => {
    const file = path.join(context.folder, 'chasqui.yaml');
    fs.writeFileSync(file, text);
    return file;
  };
});
test.after(({ folder }) => fs.rmSync(folder, { recursive: true, force: true }));

const ROWS = { ...HOSTING_OPTIONS, ...LOAD_OPTIONS };

test('options have the names and units of their flags', ({ write }) => {
  const file = write(
    'ctx-size: 8192\nn-gpu-layers: all\nmodel: [a.gguf, b.gguf]\nstrict: true\nttl: 60\nmmproj: none\n',
  );
  assert.equal(withConfigFile(file, {}, ROWS, {}), {
    contextSize: 8192,
    gpuLayers: 'all',
    model: ['a.gguf', 'b.gguf'],
    strict: true,
    ttl: 60,
    mmproj: null,
  });
});

test('flags and variables take precedence, also over options that they exclude', ({ write }) => {
  const file = write('port: 1000\nparallel: 2\nmodel: a.gguf\n');
  const parsed = { port: 2000, hf: 'user/repo' };
  assert.equal(withConfigFile(file, parsed, ROWS, { CHASQUI_PARALLEL: '3' }), parsed);
  assert.equal(withConfigFile(file, {}, ROWS, { CHASQUI_MODEL_URL: 'https://a/b.gguf' }), { port: 1000, parallel: 2 });
});

test('mistakes are named', ({ write, folder }) => {
  const messageOf = (file: string) => {
    try {
      return JSON.stringify(withConfigFile(file, {}, ROWS, {}));
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.match(messageOf(write('ctx-sise: 1')), /'ctx-sise' is not an option; did you mean 'ctx-size'\?$/);
  assert.match(messageOf(write('ctx-size: many')), /'ctx-size' must be a whole number of tokens/);
  assert.match(messageOf(write('port: {a: 1}')), /'port' must be/);
  assert.match(messageOf(write('model: a\nhf: b/c')), /'hf' and 'model' exclude each other/);
  assert.match(messageOf(write('- a')), /must have lines such as/);
  assert.match(messageOf(write('a: [')), /line 1/);
  assert.match(messageOf(path.join(folder, 'none.yaml')), /none\.yaml \(--config\): it cannot be read: ENOENT/);
  assert.match(messageOf(write('config: other.yaml')), /'config' is not an option/);
  assert.is(messageOf(write('# nothing\n')), '{}');
});

test('the printed options are read back, without API keys', ({ write }) => {
  const options = {
    contextSize: 4096,
    model: ['a b.gguf'],
    mmproj: null,
    prepareTimeoutMs: 9000,
    apiKey: 'secret-key',
  };
  const text = toConfigFile(options, ROWS);
  const { apiKey: _, ...others } = options;
  assert.equal(withConfigFile(write(text), {}, ROWS, {}), others);
  assert.not.match(text, /secret/);
  assert.match(text, /^# api-key: \(hidden\)$/m);
  assert.match(text, /^# parallel: /m);
});

test('chasqui serve reads the file and prints the options', async ({ write }) => {
  const file = write('parallel: 3\n');
  const { code, stdout } = await runCli(['serve', '--config', file, '--ctx-size', '2048', '--print-config']);
  assert.is(code, 0);
  assert.equal(parse(stdout), { 'ctx-size': 2048, parallel: 3 });
  const wrong = await runCli(['serve', '--config', write('paralel: 3')]);
  assert.is(wrong.code, 2);
  assert.match(wrong.stderr, /'paralel' is not an option; did you mean 'parallel'\?\n$/);
});

test.run();
