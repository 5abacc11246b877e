// The include rule: native/core sees the standard library only, native/llama adds llama.cpp, native/napi adds Node.
// native/kernels, native/extensions and native/tokenizers are part of llama.cpp's libraries and see these only.
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { exists, files, offences, read } from './source-tree.ts';

const sources = files('native', /\.(h|cpp)$/);

function included(line: string): { name: string; system: boolean } | undefined {
  const [, bracket, name] = /^\s*#\s*include\s*([<"])([^>"]+)[>"]/.exec(line) ?? [];
  return name ? { name, system: bracket === '<' } : undefined;
}

/** The file of ours that an #include in quotes means: beside the including one, or from native/. */
function resolve(name: string, from: string): string | undefined {
  const candidates = [path.posix.join(path.posix.dirname(from), name), path.posix.join('native', name)];
  return candidates.find(exists);
}

function layer(file: string): string {
  return file.split('/').length > 2 ? (file.split('/')[1] as string) : 'join';
}

// Which folders' headers a folder may include. `join` is native/engine.*, native/addon.cpp. CMake keeps llama.cpp's own
// headers out of reach of native/napi.
const mayInclude: Record<string, string[]> = {
  core: ['core'],
  llama: ['llama', 'core'],
  napi: ['napi', 'core', 'llama', 'join'],
  join: ['core', 'llama', 'napi', 'join'],
  kernels: ['kernels'],
  extensions: ['extensions'],
  tokenizers: ['tokenizers'],
};
const isNode = (name: string) => /^(napi|node_api|js_native_api|uv|v8|node)/.test(name);
// A standard header has neither a folder nor an extension.
// C++'s own, and the system's.
const isStandard = (name: string) => /^[a-z0-9_]+$|^sys\/[a-z]+\.h$/.test(name);

test('there is something to check', () => assert.ok(sources.length > 0));

test('headers of ours are included along the layers only', () => {
  const broken = offences(sources, (line, file) => {
    const include = included(line);
    const target = include && resolve(include.name, file);
    return target !== undefined && !mayInclude[layer(file)]?.includes(layer(target));
  });
  assert.equal(broken, []);
});

test('native/core includes the standard library and itself, nothing else', () => {
  const core = sources.filter((file) => file.startsWith('native/core/'));
  const broken = offences(core, (line, file) => {
    const include = included(line);
    return include !== undefined && !(include.system ? isStandard(include.name) : resolve(include.name, file));
  });
  assert.equal(broken, []);
});

test('llama.cpp is included by native/llama, and by what is part of its libraries, only', () => {
  const broken = offences(sources, (line, file) => {
    const include = included(line);
    if (!include || /^native\/(llama|kernels|extensions|tokenizers)\//.test(file) || resolve(include.name, file))
      return false;
    return !isStandard(include.name) && !isNode(include.name);
  });
  assert.equal(broken, []);
});

test('napi.h is included by native/napi and native/addon.cpp only', () => {
  const broken = offences(sources, (line, file) => {
    const allowed = file.startsWith('native/napi/') || file === 'native/addon.cpp';
    return !allowed && isNode(included(line)?.name ?? '');
  });
  assert.equal(broken, []);
});

test('every header says on which thread it is used', () => {
  const silent = sources.filter(
    (file) =>
      file.endsWith('.h') &&
      !read(file)
        .split('\n')
        .slice(0, 3)
        .some((line) => line.startsWith('// Thread:')),
  );
  assert.equal(silent, []);
});

test.run();
