// Builds the C++ comparisons with llama.cpp's own code, in the build folder of the addon, and runs them.
import { runCxxTests } from '../support/cxx-tests.js';

runCxxTests({ target: 'llama-tests', build: 'build', executable: 'Release/llama-tests' });
