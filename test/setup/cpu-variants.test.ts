import fs from 'node:fs';
import path from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
// @ts-expect-error: plain JavaScript, because it runs before TypeScript is installed
import { bestVariants, listVariants } from '../../native/tooling/cpu-variants.mjs';

const root = path.join(import.meta.dirname, '..', '..');
const llama = process.env.CHASQUI_LLAMA_DIR || path.join(root, 'vendor', 'llama.cpp');
const cmake = fs.readFileSync(path.join(llama, 'ggml', 'src', 'CMakeLists.txt'), 'utf8');
const haswell = ['sse4_2', 'avx', 'avx2', 'bmi2', 'fma', 'f16c'];
const avx512 = [...haswell, 'avx512f', 'avx512cd', 'avx512vl', 'avx512dq', 'avx512bw'];
const zen4 = [...avx512, 'avx512vbmi', 'avx512_vnni', 'avx512_bf16'];

test("ggml's lists are found", () => {
  const names = (arch: string) => listVariants(cmake, arch).map(({ name }: { name: string }) => name);
  assert.is(names('x64')[0], 'x64');
  assert.ok(names('x64').includes('sapphirerapids'));
  assert.not.ok(names('x64').some((name: string) => name.startsWith('arm')));
  assert.is(names('arm64')[0], 'armv8.0_1');
  assert.ok(names('arm64').every((name: string) => name.startsWith('armv')));
});

const machines: [string, string, string[], string][] = [
  ['an old x64', 'x64', [], 'x64'],
  ['Haswell', 'x64', haswell, 'haswell,x64'],
  ['Alder Lake', 'x64', [...haswell, 'avx_vnni'], 'alderlake,x64'],
  ['Zen 4', 'x64', zen4, 'zen4,x64'],
  ['Zen 5, which has AVX-VNNI too', 'x64', [...zen4, 'avx_vnni'], 'zen4,x64'],
  ['Sapphire Rapids', 'x64', [...zen4, 'avx_vnni', 'amx_tile', 'amx_int8'], 'sapphirerapids,x64'],
  ['half of AVX-512', 'x64', [...haswell, 'avx512f'], 'haswell,x64'],
  ['Graviton 2', 'arm64', ['asimddp', 'asimdhp'], 'armv8.2_2,armv8.0_1'],
  ['Graviton 4', 'arm64', ['asimddp', 'asimdhp', 'sve', 'i8mm', 'sve2'], 'armv8.6_2,armv8.0_1'],
];
for (const [machine, arch, flags, expected] of machines) {
  test(`${machine}: ${expected}`, () => assert.is(bestVariants(cmake, arch, new Set(flags)), expected));
}

test('every feature that ggml asks for is known', () => {
  const everything = {
    x64: [...zen4, 'avx_vnni', 'amx_tile', 'amx_int8'],
    arm64: ['asimddp', 'asimdhp', 'sve', 'i8mm', 'sve2', 'sme'],
  };
  for (const [arch, flags] of Object.entries(everything)) {
    for (const { name, needs } of listVariants(cmake, arch).slice(1)) {
      // A module that requires only known, present features must win without its rivals.
      const call = `ggml_add_cpu_backend_variant(${name} `;
      const alone = cmake
        .replace(call, 'KEPT')
        .replaceAll(/ggml_add_cpu_backend_variant\(\S+ .*/g, '')
        .replace('KEPT', call);
      assert.ok(bestVariants(alone, arch, new Set(flags)).startsWith(`${name},`), `${name}: ${needs}`);
    }
  }
});

test.run();
