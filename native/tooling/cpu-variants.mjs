// Chooses the ggml CPU modules to build for this machine. At run time ggml selects a module by its score. The lists of
// modules are read from ggml's CMakeLists.txt, so an update of llama.cpp includes its new modules.
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';

// ggml's name of a CPU feature -> the kernel's names of the flags, and ggml's score
// (ggml/src/ggml-cpu/arch/x86/cpu-feats.cpp and arch/arm/cpu-feats.cpp).
const features = {
  x64: {
    FMA: [['fma'], 1],
    F16C: [['f16c'], 2],
    SSE42: [['sse4_2'], 4],
    BMI2: [['bmi2'], 8],
    AVX: [['avx'], 16],
    AVX2: [['avx2'], 32],
    AVX_VNNI: [['avx_vnni'], 64],
    AVX512: [['avx512f', 'avx512cd', 'avx512vl', 'avx512dq', 'avx512bw'], 128],
    AVX512_VBMI: [['avx512vbmi'], 256],
    AVX512_BF16: [['avx512_bf16'], 512],
    AVX512_VNNI: [['avx512_vnni'], 1024],
    AMX_TILE: [['amx_tile'], 0],
    AMX_INT8: [['amx_int8'], 2048],
  },
  arm64: {
    DOTPROD: [['asimddp'], 2],
    FP16_VECTOR_ARITHMETIC: [['asimdhp'], 4],
    SVE: [['sve'], 8],
    MATMUL_INT8: [['i8mm'], 16],
    SVE2: [['sve2'], 32],
    SME: [['sme'], 64],
  },
};

// Delimiters of ggml's list for an architecture.
const sections = {
  x64: [
    /GGML_SYSTEM_ARCH STREQUAL "x86"\)\s+ggml_add_cpu_backend_variant/,
    /elseif\s*\(GGML_SYSTEM_ARCH STREQUAL "ARM"/,
  ],
  arm64: [
    /STREQUAL "ARM"\)\s+if\s*\(CMAKE_SYSTEM_NAME MATCHES "Linux"/,
    /elseif\s*\(CMAKE_SYSTEM_NAME MATCHES "Android"/,
  ],
};

/**
 * The best module for this machine and the portable baseline; 'all' if the CPU's features are unknown. For another
 * architecture, the baseline and the newest that GCC 12 compiles.
 */
export function chooseVariants(llamaDir, arch = process.arch) {
  const flags = cpuFlags();
  if (!flags || !features[arch]) return 'all';
  const cmake = fs.readFileSync(path.join(llamaDir, 'ggml', 'src', 'CMakeLists.txt'), 'utf8');
  if (arch === process.arch) return bestVariants(cmake, arch, flags);
  const known = listVariants(cmake, arch).filter(({ needs }) => !needs.includes('SME'));
  const names = known.map(({ name }) => name);
  return `${names[0]},${names.at(-1)}`;
}

export function bestVariants(cmake, arch, flags) {
  const variants = listVariants(cmake, arch);
  if (variants.length === 0) return 'all';
  const scored = variants.map(({ name, needs }) => ({ name, score: score(needs, features[arch], flags) }));
  const best = scored.reduce((a, b) => (b.score > a.score ? b : a));
  return [...new Set([best.name, variants[0].name])].join(',');
}

export function listVariants(cmake, arch) {
  const [begin, end] = sections[arch];
  const from = cmake.search(begin);
  const section = cmake.slice(from, from + cmake.slice(from).search(end));
  const calls = section.matchAll(/ggml_add_cpu_backend_variant\(([\w.]+)([^)]*)\)/g);
  return [...calls].map(([, name, needs]) => ({ name, needs: needs.split(/\s+/).filter(Boolean) }));
}

function score(needs, known, flags) {
  let sum = 1;
  for (const need of needs) {
    const [kernelNames, weight] = known[need] ?? [];
    if (!kernelNames?.every((name) => flags.has(name))) return 0;
    sum += weight;
  }
  return sum;
}

function cpuFlags() {
  if (process.platform !== 'linux') return undefined;
  const line = /^(?:flags|Features)\s*:(.*)$/m.exec(fs.readFileSync('/proc/cpuinfo', 'utf8'));
  return line ? new Set(line[1].trim().split(/\s+/)) : undefined;
}
