// The licences of all sources of a build's binaries. The sources are read from the build: the objects that Ninja linked,
// and the headers that they include.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { SetupError } from '../../vendor/progress.mjs';

// Folder or file -> owner, SPDX expression (`null`: public domain) and location of the licence: a file, or a source comment with
// this text. The longest matching entry counts. `null`: no conditions, or the same licence as the parent folder.
const hash = 'vendor/llama.cpp/vendor/hash';
const components = {
  native: null,
  'vendor/llama.cpp': { name: 'llama.cpp and ggml', license: 'MIT', file: 'vendor/llama.cpp/LICENSE' },
  'vendor/llama.cpp/ggml/src/ggml-cpu/llamafile': {
    name: 'tinyBLAS of llamafile',
    license: 'MIT',
    comment: ['vendor/llama.cpp/ggml/src/ggml-cpu/llamafile/sgemm.cpp', 'Mozilla Foundation'],
  },
  'vendor/llama.cpp/ggml/src/ggml-cpu/ops.cpp': {
    name: 'YaRN',
    license: 'MIT',
    comment: ['vendor/llama.cpp/ggml/src/ggml-cpu/ops.cpp', 'Jeffrey Quesnelle'],
  },
  'vendor/llama.cpp/vendor/cpp-httplib': {
    name: 'cpp-httplib',
    license: 'MIT',
    file: 'vendor/llama.cpp/vendor/cpp-httplib/LICENSE',
  },
  [hash]: { name: 'llama.cpp and ggml', license: 'MIT', file: 'vendor/llama.cpp/LICENSE' },
  [`${hash}/rotate-bits`]: { name: 'rotate-bits', license: 'MIT', file: `${hash}/rotate-bits/LICENSE.md` },
  [`${hash}/sha1`]: null,
  [`${hash}/sha256`]: { name: 'SHA-256 by Igor Pavlov', license: null, file: `${hash}/sha256/LICENSE` },
  [`${hash}/xxhash`]: { name: 'xxHash', license: 'BSD-2-Clause', file: `${hash}/xxhash/LICENSE` },
  'vendor/llama.cpp/vendor/miniaudio': {
    name: 'miniaudio',
    license: 'Unlicense OR MIT-0',
    comment: ['vendor/llama.cpp/vendor/miniaudio/miniaudio.h', 'MIT No Attribution'],
  },
  'vendor/llama.cpp/vendor/nlohmann': {
    name: 'JSON for Modern C++',
    license: 'MIT',
    file: 'vendor/llama.cpp/licenses/LICENSE-jsonhpp',
  },
  'vendor/llama.cpp/vendor/sheredom': {
    name: 'subprocess.h',
    license: 'Unlicense',
    comment: ['vendor/llama.cpp/vendor/sheredom/subprocess.h', 'free and unencumbered'],
  },
  'vendor/llama.cpp/vendor/stb': {
    name: 'stb_image',
    license: 'MIT OR Unlicense',
    comment: ['vendor/llama.cpp/vendor/stb/stb_image.h', 'ALTERNATIVE A - MIT License'],
  },
  'node_modules/node-addon-api': {
    name: 'node-addon-api',
    license: 'MIT',
    file: 'node_modules/node-addon-api/LICENSE.md',
  },
  'node_modules/node-api-headers': {
    name: 'node-api-headers',
    license: 'MIT',
    file: 'node_modules/node-api-headers/LICENSE',
  },
};

// Headers of a GPU's toolkit become part of a module. Their first comments contain the licence.
const toolkits = [
  { name: 'Vulkan-Headers', license: 'MIT', files: /\/vulkan\/\w+\.h(pp)?$/, choice: 'MIT' },
  { name: 'SPIRV-Headers', license: 'MIT', files: /\/spirv\/unified1\/\w+\.hpp$/ },
  {
    name: 'CUB, Thrust and libcu++',
    license: 'Apache-2.0 AND BSD-3-Clause',
    files: /\/(cub|thrust|cuda\/std|cuda\/__\w+)\/[^ ]+$/,
    choice: 'Apache-2.0',
  },
];
const choices = {
  MIT: ['vendor/llama.cpp/LICENSE', 'Permission is hereby granted'],
  'Apache-2.0': ['node_modules/typescript/LICENSE', 'Apache License'],
};

/**
 * Returns `{ name, license, text }` of each component of `binaries`, files in Release of the build directory `build`.
 * `license` is an SPDX expression, or null for the public domain.
 */
export function readComponents(root, build, binaries) {
  const found = new Map();
  const files = listFiles(build, binaries);
  for (const file of files) {
    const source = path.relative(root, file).replaceAll('\\', '/');
    if (source.startsWith('..') || path.isAbsolute(source) || /^build(-[a-z0-9-]+)?\//.test(source)) continue;
    const component = componentOf(source);
    if (component) found.set(component.name, { ...pick(component), text: licence(root, component) });
  }
  for (const toolkit of toolkits) {
    const used = files.filter((file) => toolkit.files.test(file.replaceAll('\\', '/')));
    if (used.length > 0) found.set(toolkit.name, { ...pick(toolkit), text: toolkitLicence(root, toolkit, used) });
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name));
}

function pick({ name, license }) {
  return { name, license };
}

/** The text of the file NOTICES. */
export function formatNotices(components) {
  const written = components.map(({ name, text }) => `${name}\n${'='.repeat(60)}\n\n${text}\n`);
  return `The binaries of this package contain the following, beside chasqui itself.\n\n${written.join('\n')}`;
}

function listFiles(build, binaries) {
  const outputs = binaries.map((name) => path.join('Release', name));
  const inputs = ninja(build, ['inputs', ...outputs]).split('\n');
  const objects = inputs.filter((name) => /\.(o|obj)$/.test(name));
  const headers = [];
  for (const line of objects.length > 0 ? ninja(build, ['deps', ...objects]).split('\n') : []) {
    if (line.startsWith('    ')) headers.push(line.trim());
  }
  const names = [...inputs, ...headers].filter(Boolean).map((name) => path.resolve(build, name));
  return [...new Set(names)].sort();
}

/** The distinct licence comments of the headers, and the licence that they offer as a choice. */
function toolkitLicence(root, { choice }, files) {
  const said = files.flatMap((file) => {
    const [comment] = comments(fs.readFileSync(file, 'utf8')).filter((text) => /copyright/i.test(text));
    return comment ?? [];
  });
  if (said.length === 0) throw new SetupError(`${files[0]} does not say whose it is`);
  const [file, phrase] = choices[choice] ?? [];
  const text = file && fs.readFileSync(path.join(root, file), 'utf8');
  return [...new Set(said), ...(text ? [text.slice(text.indexOf(phrase)).trim()] : [])].join('\n\n');
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
    throw new SetupError(`${source} is linked, and native/tooling/notices.mjs does not know its licence`);
  }
  return longest === undefined ? null : components[longest];
}

function licence(root, { file, comment }) {
  if (file) return fs.readFileSync(path.join(root, file), 'utf8').trim();
  const [source, phrase] = comment;
  const found = comments(fs.readFileSync(path.join(root, source), 'utf8')).find((text) => text.includes(phrase));
  if (!found) throw new SetupError(`${source} has no comment with "${phrase}", its licence, any more`);
  return found;
}

function comments(text) {
  const blocks = [...text.matchAll(/\/\*[\s\S]*?\*\/|(?:^\/\/.*\n)+/gm)].map(([block]) => block);
  return blocks.map((block) =>
    block
      .replace(/^\/\*\s*|\s*\*\/$/g, '')
      .replace(/^\/\/ ?/gm, '')
      .trim(),
  );
}
