// Deployment scripts are evaluated in a separate process, and their exports are validated.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalJson, digestOf } from '../../../../ts/cloud/script/canonical-json.ts';
import { readScript } from '../../../../ts/cloud/script/read-script.ts';
import { ChasquiError } from '../../../../ts/errors.ts';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-cloud-script-'));
test.after(() => fs.rmSync(folder, { recursive: true, force: true }));

const IMPORT = "import { app } from 'chasqui/cloud';\n";

function write(name: string, text: string): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, text);
  return file;
}

async function failureOf(entry: string, limitMs?: number): Promise<string> {
  try {
    await readScript(entry, limitMs);
  } catch (error) {
    if (error instanceof ChasquiError && error.code === 'script_invalid') return error.message;
    throw error;
  }
  return 'nothing was refused';
}

test('an export is found by its name, with types, and becomes data', async () => {
  const file = write(
    'two.ts',
    `${IMPORT}const slots: number = 2;
     export const chat = app({ model: 'demo', slots, auth: 'public', scale: { keepAlive: '90s' } });
     export const other = app({ model: 'file:./m.gguf' });`,
  );
  const { name, options, manifest } = await readScript(`${file}::chat`);
  assert.is(name, 'chat');
  assert.equal(options, { model: 'demo', slots: 2, auth: 'public', scale: { keepAlive: '90s' } });
  assert.is(manifest.slots, 2);
  assert.is(manifest.scale.keepAliveMs, 90_000);
  const other = await readScript(`${file}::other`);
  assert.is(other.options.model, `file:${path.join(folder, 'm.gguf')}`);
  assert.is(other.manifest.auth, 'private');
});

test('a template in a file beside the script becomes part of what it says, of each model its own', async () => {
  write('own.jinja', '{{ messages }}');
  const one = write(
    'template.ts',
    `${IMPORT}export const a = app({ model: 'demo', chatTemplateFile: './own.jinja' });`,
  );
  assert.equal((await readScript(one)).options, { model: 'demo', chatTemplate: '{{ messages }}' });
  const several = write(
    'templates.ts',
    `${IMPORT}export const a = app({ chatTemplateFile: 'own.jinja', models: [
       { model: 'demo', alias: 'one' }, { model: 'demo', alias: 'two', chatTemplateFile: 'own.jinja' }] });`,
  );
  const { options } = await readScript(several);
  assert.equal([options.chatTemplate, options.chatTemplateFile], ['{{ messages }}', undefined]);
  assert.equal((options.models as object[])[1], { model: 'demo', alias: 'two', chatTemplate: '{{ messages }}' });
  const says = (options: string) => failureOf(write('spoilt.ts', `${IMPORT}export const a = app(${options});`));
  assert.match(
    await says(`{ model: 'demo', chatTemplateFile: 'none.jinja' }`),
    /^`chatTemplateFile` of the app a cannot be read: ENOENT/,
  );
  assert.match(
    await says(`{ models: [{ model: 'demo', chatTemplateFile: 3 }] } as never`),
    '`models[0].chatTemplateFile` of the app a must be the path of a file.',
  );
  assert.match(await says(`{ model: 'demo', chatTemplate: 'x', chatTemplateFile: 'own.jinja' }`), 'exclude each other');
});

test('a script with one app needs no name, JavaScript neither types', async () => {
  const one = write('one.mjs', `${IMPORT}export const bigChat = app({ model: 'demo' });`);
  assert.is((await readScript(one)).name, 'big-chat');
  const js = write('one.js', `${IMPORT}export default app({ model: 'demo' });`);
  assert.is((await readScript(js)).name, 'one');
});

test('equal data has one digest, in whatever order it was written', async () => {
  const first = await readScript(write('a.ts', `${IMPORT}export const a = app({ model: 'demo', slots: 1 });`));
  const second = await readScript(write('b.ts', `${IMPORT}export const a = app({ slots: 1, model: 'demo' });`));
  assert.is(digestOf(first.options), digestOf(second.options));
  assert.is(canonicalJson({ b: [1, { d: null, c: 'x' }], a: true }), '{"a":true,"b":[1,{"c":"x","d":null}]}');
});

test('which app is meant must be clear', async () => {
  const two = write('c.ts', `${IMPORT}export const a = app({ model: 'demo' }); export const b = a;`);
  assert.match(await failureOf(two), 'it exports a, b. Select one, for example');
  assert.match(await failureOf(`${two}::c`), 'no app c: it exports a, b');
  assert.match(await failureOf(write('d.ts', 'export const a = 1;')), 'it exports no `app()`');
  assert.match(await failureOf(path.join(folder, 'none.ts')), 'does not exist');
});

test('a script that throws, or that is no TypeScript, is quoted with its line', async () => {
  const throws = write('throws.ts', `${IMPORT}\nthrow new Error('no such thing');`);
  assert.match(await failureOf(throws), /failed: no such thing \(line 3\)/);
  assert.match(await failureOf(write('broken.ts', 'export const = ;')), 'failed: ');
});

test('a script that does not end, or takes too much, is ended', async () => {
  assert.match(await failureOf(write('loop.ts', 'for (;;) {}'), 1000), 'did not finish within 1 seconds');
  const grows = write('grows.ts', 'const all = []; for (;;) all.push(new Array(1000).fill(all.length));');
  assert.match(await failureOf(grows, 60_000), 'needs more than 256 MiB');
  assert.match(await failureOf(write('exits.ts', 'process.exit(0)')), 'ended without a result');
});

test('timers that a script leaves behind do not keep it', async () => {
  const file = write('timer.ts', `${IMPORT}setInterval(() => {}, 1000); export const a = app({ model: 'demo' });`);
  assert.is((await readScript(file)).name, 'a');
});

test.run();
