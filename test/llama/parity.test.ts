// Builds the C++ comparisons with llama.cpp's own code, in the build folder of the addon, and runs them.
import { runCxxTests } from '../support/cxx-tests.js';
import { nameMtpModels } from '../support/mtp-model.js';
import { toolCallsFile } from '../support/tool-calls-file.js';

nameMtpModels(process.env);
process.env.CHASQUI_CALLS = toolCallsFile;
runCxxTests({ target: 'llama-tests', build: 'build', executable: 'Release/llama-tests' });
