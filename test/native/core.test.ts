// Builds the C++ tests of native/core, without llama.cpp and Node, in the build folder of the addon, and runs them.
import { runCxxTests } from '../support/cxx-tests.js';

runCxxTests({ target: 'core-tests', build: 'build', executable: 'Release/core-tests' });
