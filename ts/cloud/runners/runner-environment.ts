/** The environment of runners. Other variables of the control plane may hold credentials of its operator. */

const SYSTEM =
  'PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TMP|TEMP|TZ|LANG|LANGUAGE|(?:LC|XDG)_\\w+|NO_COLOR|' +
  'SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|PROGRAMDATA|PROGRAMFILES|USERPROFILE|(?:LOCAL)?APPDATA';
const RUNTIME =
  '(?:LD|DYLD|GLIBC|MALLOC|NODE)_\\w+|\\w+SAN_OPTIONS|SSL_CERT_(?:FILE|DIR)|CHASQUI_(?:BACKEND|MODULES|PREBUILD)';
const DRIVERS =
  '(?:GGML|OMP|KMP|CUDA|NVIDIA|HIP|HSA|ROCR|ROCM|VK|MESA|GALLIUM|LIBGL|ZE|SYCL|ONEAPI|OCL|OPENCL|CANN)_\\w+';
const PASSED = new RegExp(`^(?:${SYSTEM}|${RUNTIME}|${DRIVERS})$`, 'i');

type Environment = Readonly<Record<string, string | undefined>>;

export function runnerEnvironment(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => PASSED.test(name)));
}
