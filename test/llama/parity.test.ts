// Builds the C++ comparisons with llama.cpp's own code, in the build folder of the addon, and runs them.
import { runCxxTests } from '../support/cxx-tests.js';
import { mtpModel } from '../support/mtp-model.js';

for (const architecture of ['hy_v3', 'qwen35'] as const) {
  process.env[`CHASQUI_TEST_MTP_${architecture}`] = mtpModel({ architecture, head: 'chance', interference: 0.6 });
}
runCxxTests({ target: 'llama-tests', build: 'build', executable: 'Release/llama-tests' });
