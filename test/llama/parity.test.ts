// Builds the C++ comparisons with llama.cpp's own code, in the build folder of the addon, and runs them.
import { runCxxTests } from '../support/cxx-tests.js';
import { nameMtpModels } from '../support/mtp-model.js';

nameMtpModels(process.env);
runCxxTests({ target: 'llama-tests', build: 'build', executable: 'Release/llama-tests' });
