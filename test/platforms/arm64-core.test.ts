// The C++ tests of native/core on an emulated arm64 processor.
import { runCxxTests } from '../support/cxx-tests.js';
import { ARM64 } from '../support/linux-arm64.js';

runCxxTests({
  target: 'core-tests',
  build: 'build-linux-arm64/core-tests',
  executable: 'core-tests',
  configure: [
    `-DCMAKE_TOOLCHAIN_FILE=${ARM64.toolchain}`,
    '-DCHASQUI_CORE_ONLY=ON',
    '-DCHASQUI_TESTS=ON',
    '-DCMAKE_BUILD_TYPE=Release',
  ],
  emulator: ARM64.emulator,
});
