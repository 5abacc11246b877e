// The licences of everything that a build's binaries were made from, told by the build itself: what Ninja linked, and
// the headers that these objects included.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { SetupError } from '../vendor/progress.mjs';

// Folder or file -> whose it is and where its licence stands: a file, or the comment of a source that has this text.
// The longest that fits a source counts. `null`: free of any condition, or the same as the folder around it.
const hash = 'vendor/llama.cpp/vendor/hash';
const components = {
  native: null,
  'vendor/llama.cpp': { name: 'llama.cpp and ggml', file: 'vendor/llama.cpp/LICENSE' },
  'vendor/llama.cpp/ggml/src/ggml-cpu/llamafile': {
    name: 'tinyBLAS of llamafile',
    comment: ['vendor/llama.cpp/ggml/src/ggml-cpu/llamafile/sgemm.cpp', 'Mozilla Foundation'],
  },
  'vendor/llama.cpp/ggml/src/ggml-cpu/ops.cpp': {
    name: 'YaRN',
    comment: ['vendor/llama.cpp/ggml/src/ggml-cpu/ops.cpp', 'Jeffrey Quesnelle'],
  },
  'vendor/llama.cpp/vendor/cpp-httplib': {
    name: 'cpp-httplib',
    file: 'vendor/llama.cpp/vendor/cpp-httplib/LICENSE',
  },
  [hash]: { name: 'llama.cpp and ggml', file: 'vendor/llama.cpp/LICENSE' },
  [`${hash}/rotate-bits`]: { name: 'rotate-bits', file: `${hash}/rotate-bits/LICENSE.md` },
  [`${hash}/sha1`]: null,
  [`${hash}/sha256`]: { name: 'SHA-256 by Igor Pavlov', file: `${hash}/sha256/LICENSE` },
  [`${hash}/xxhash`]: { name: 'xxHash', file: `${hash}/xxhash/LICENSE` },
  'vendor/llama.cpp/vendor/miniaudio': {
    name: 'miniaudio',
    comment: ['vendor/llama.cpp/vendor/miniaudio/miniaudio.h', 'MIT No Attribution'],
  },
  'vendor/llama.cpp/vendor/nlohmann': {
    name: 'JSON for Modern C++',
    file: 'vendor/llama.cpp/licenses/LICENSE-jsonhpp',
  },
  'vendor/llama.cpp/vendor/sheredom': {
    name: 'subprocess.h',
    comment: ['vendor/llama.cpp/vendor/sheredom/subprocess.h', 'free and unencumbered'],
  },
  'vendor/llama.cpp/vendor/stb': {
    name: 'stb_image',
    comment: ['vendor/llama.cpp/vendor/stb/stb_image.h', 'ALTERNATIVE A - MIT License'],
  },
  'node_modules/node-addon-api': { name: 'node-addon-api', file: 'node_modules/node-addon-api/LICENSE.md' },
  'node_modules/node-api-headers': { name: 'node-api-headers', file: 'node_modules/node-api-headers/LICENSE' },
};

/** The text for the package that carries `binaries`, files in build/Release. */
export function writeNotices(root, binaries) {
  const used = new Map();
  for (const source of listSources(root, binaries)) {
    const component = componentOf(source);
    if (component) used.set(component.name, component);
  }
  const sections = [...used.values()].sort((a, b) => a.name.localeCompare(b.name));
  const texts = sections.map((component) => `${component.name}\n${'='.repeat(60)}\n\n${licence(root, component)}\n`);
  return `The binaries of this package contain the following, beside chasqui itself.\n\n${texts.join('\n')}`;
}

/** Every file that the binaries were made from, relative to `root`; those of the system are left out. */
export function listSources(root, binaries) {
  const build = path.join(root, 'build');
  const outputs = binaries.map((name) => path.join('Release', name));
  const inputs = ninja(build, ['inputs', ...outputs]).split('\n');
  const objects = inputs.filter((name) => /\.(o|obj)$/.test(name));
  const headers = [];
  for (const line of objects.length > 0 ? ninja(build, ['deps', ...objects]).split('\n') : []) {
    if (line.startsWith('    ')) headers.push(line.trim());
  }
  const sources = [...inputs, ...headers].map((name) => path.relative(root, path.resolve(build, name)));
  const own = sources.filter((name) => name && !name.startsWith('..') && !/^build[\\/]/.test(name));
  return [...new Set(own.map((name) => name.replaceAll('\\', '/')))].sort();
}

function ninja(build, args) {
  const result = spawnSync('ninja', ['-t', ...args], { cwd: build, encoding: 'utf8', maxBuffer: 256 << 20 });
  if (result.status !== 0) throw new SetupError(`what was linked can be told by ninja 1.11 only: ${result.stderr}`);
  return result.stdout;
}

function componentOf(source) {
  const fitting = Object.keys(components).filter((folder) => source === folder || source.startsWith(`${folder}/`));
  const longest = fitting.sort((a, b) => b.length - a.length)[0];
  const isNew = longest === 'vendor/llama.cpp' && source.startsWith('vendor/llama.cpp/vendor/');
  if (/\.(c|cpp|h|hpp|inc|cc|m|cu|cuh)$/.test(source) && (longest === undefined || isNew)) {
    throw new SetupError(`${source} is linked, and native/notices.mjs does not know its licence`);
  }
  return longest === undefined ? null : components[longest];
}

function licence(root, { file, comment }) {
  if (file) return fs.readFileSync(path.join(root, file), 'utf8').trim();
  const [source, phrase] = comment;
  const text = fs.readFileSync(path.join(root, source), 'utf8');
  const blocks = [...text.matchAll(/\/\*[\s\S]*?\*\/|(?:^\/\/.*\n)+/gm)].map(([block]) => block);
  const found = blocks.find((block) => block.includes(phrase));
  if (!found) throw new SetupError(`${source} has no comment with "${phrase}", its licence, any more`);
  return found
    .replace(/^\/\*\s*|\s*\*\/$/g, '')
    .replace(/^\/\/ ?/gm, '')
    .trim();
}
