// Requirements of the packaged binaries.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { install, nativeFolder } from './installation.js';

const test = suite('packages: binaries');

function binaries(): string[] {
  return readdirSync(nativeFolder(install())).filter((name) => /\.(node|so)$/.test(name));
}

function inspect(tool: string, option: string, name: string): string {
  const { status, stdout, stderr } = spawnSync(tool, [option, '--wide', join(nativeFolder(install()), name)], {
    encoding: 'utf8',
  });
  assert.is(status, 0, stderr);
  return stdout;
}

function each(check: (name: string) => string[]): string[] {
  return binaries().flatMap((name) => check(name).map((fault) => `${name}: ${fault}`));
}

test('there are the addon, ggml and CPU modules', () => {
  assert.ok(binaries().includes('chasqui.node'));
  assert.ok(binaries().filter((name) => name.startsWith('libggml-cpu-')).length >= 1);
});

test('libraries are looked for in their own folder and nowhere else', () => {
  const faults = each((name) => {
    const [, path = ''] = /\((?:RUNPATH|RPATH)\).*\[(.*)\]/.exec(inspect('readelf', '-d', name)) ?? [];
    return path === '$ORIGIN' ? [] : [path || 'none'];
  });
  assert.equal(faults, []);
});

test('only what every Linux has is needed, beside our own', () => {
  const known =
    /^(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so\.\d+|ld-linux-x86-64\.so\.2|libggml(-base)?-chasqui-[\d.]+\.so)$/;
  const faults = each((name) => {
    const needed = [...inspect('readelf', '-d', name).matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(
      ([, library = '']) => library,
    );
    return needed.filter((library) => !known.test(library));
  });
  assert.equal(faults, []);
});

test('the addon exports what Node looks for and nothing else', () => {
  const { stdout } = spawnSync(
    'nm',
    ['-D', '--defined-only', '--format=just-symbols', join(nativeFolder(install()), 'chasqui.node')],
    {
      encoding: 'utf8',
    },
  );
  assert.equal(stdout.trim().split('\n').sort(), ['napi_register_module_v1', 'node_api_module_get_api_version_v1']);
});

test("the notices name every library of llama.cpp's that the addon was linked with", () => {
  const rules = readFileSync(new URL('../../build/build.ninja', import.meta.url), 'utf8');
  const [, rule = ''] = /^build Release\/chasqui\.node:[\s\S]*?\n {2}LINK_LIBRARIES = (.*)$/m.exec(rules) ?? [];
  const linked = [...rule.matchAll(/\/vendor\/([\w-]+)\/lib/g)].map(([, name = '']) => name);
  assert.ok(linked.includes('hash'), rule);
  // Under the name of the folder in llama.cpp, what the library calls itself.
  const headings: Record<string, string> = { hash: 'xxHash' };
  const notices = readFileSync(join(nativeFolder(install()), '..', '..', 'NOTICES'), 'utf8');
  const missing = linked.filter((name) => !notices.includes(`\n${headings[name] ?? name}\n====`));
  assert.equal(missing, []);
});

test('the notices name what the addon is compiled with', () => {
  const notices = readFileSync(join(nativeFolder(install()), '..', '..', 'NOTICES'), 'utf8');
  for (const name of ['llama.cpp and ggml', 'JSON for Modern C++', 'stb_image', 'node-addon-api']) {
    assert.ok(notices.includes(`\n${name}\n====`), name);
  }
});

test('nothing is left to be stripped', () => {
  assert.equal(
    each((name) => (/\.symtab|\.debug_info/.test(inspect('readelf', '-S', name)) ? ['has symbols'] : [])),
    [],
  );
});

test.run();
