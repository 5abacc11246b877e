// Builds the C++ tests of native/core, without llama.cpp and Node, and runs them.
import { runCxxTests } from '../support/cxx-tests.js';

runCxxTests({
  target: 'core-tests',
  build: 'build/core-tests',
  executable: 'core-tests',
  // Compiling takes longer than running.
  configure: [
    '-DCHASQUI_CORE_ONLY=ON',
    '-DCHASQUI_TESTS=ON',
    '-DCMAKE_BUILD_TYPE=Release',
    '-DCMAKE_CXX_FLAGS_RELEASE=-O1',
  ],
});
