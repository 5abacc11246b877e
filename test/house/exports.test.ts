// The whole native surface: what the addon exports is what ts/native/addon.ts declares, and nothing else leaks out.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { files, read, root } from './source-tree.ts';

const library = path.join(root, 'build', 'Release', 'chasqui.node');

test('the addon exports what the interface Addon declares', () => {
  const [, members = ''] = /^export interface Addon \{\n([\s\S]*?)^\}/m.exec(read('ts/native/addon.ts')) ?? [];
  const declared = [...members.matchAll(/^ {2}(?:readonly )?(\w+)[(:<?]/gm)].map(([, name]) => name);
  const addon = createRequire(import.meta.url)(library);
  assert.equal(Object.keys(addon).sort(), declared.sort());
});

test('one file registers the addon', () => {
  const registering = files('native', /\.(h|cpp)$/).filter((file) =>
    /NODE_API_(NAMED_)?(MODULE|ADDON)/.test(read(file)),
  );
  assert.equal(registering, ['native/addon.cpp']);
});

if (process.platform === 'linux') {
  test('no C++ symbol leaks out of the addon', () => {
    const { stdout } = spawnSync('nm', ['--dynamic', '--defined-only', '--format=just-symbols', library], {
      encoding: 'utf8',
    });
    assert.equal(stdout.trim().split('\n').sort(), ['napi_register_module_v1', 'node_api_module_get_api_version_v1']);
  });

  // Sources of llama.cpp that the addon calls nothing of are not compiled; the linker does not say when one is missed.
  test('the addon finds all functions of llama.cpp in itself and in ggml', () => {
    const args = ['--dynamic', '--undefined-only', '--format=just-symbols', '--demangle', library];
    const missing = spawnSync('nm', args, { encoding: 'utf8' }).stdout.trim().split('\n');
    assert.ok(missing.includes('napi_create_function'));
    assert.equal(
      missing.filter((name) => /^_?(llama|common|mtmd|clip|stbi)_|^(jinja|json|httplib|nlohmann)\b/.test(name)),
      [],
    );
  });
}

test.run();
