/** Remedies for failures of GPUs and their drivers, by the messages of CUDA, Vulkan and the dynamic loader. */

const REMEDIES: readonly [says: RegExp, remedy: string][] = [
  [
    /driver version is insufficient|driver on your system is too old|system driver mismatch|kernel image is available/i,
    'the driver and the module do not match: update the NVIDIA driver, or install the module for an older CUDA version',
  ],
  [
    /no CUDA-capable device|invalid device ordinal|devices? .*busy or unavailable/i,
    'the driver offers no GPU: check `nvidia-smi` and CUDA_VISIBLE_DEVICES',
  ],
  [
    /lib(cuda|nvidia-\w+)\.so\S*: cannot open/,
    'the NVIDIA driver is missing: install it; a container needs access to the GPU',
  ],
  [
    /lib(cudart|cublas\w*)\.so\S*: cannot open/,
    'CUDA libraries are missing: install cuBLAS and the CUDA runtime of this version, or add their folder to LD_LIBRARY_PATH',
  ],
  [
    /(CUDA error: out of memory|OutOfDeviceMemory|OUT_OF_DEVICE_MEMORY|cudaMalloc failed)/,
    'GPU memory is full, perhaps because of another process, see `nvidia-smi`: use a larger `fitTargetMiB`, a smaller `parallel` or a smaller `contextSize`',
  ],
  [
    /CUDA error|DeviceLost|DEVICE_LOST/,
    'the GPU cannot be used by this process any more, so it must be started again: if that is repeated, check the kernel log for Xid errors, and reset the GPU or its driver',
  ],
];

/** Appends the remedy in parentheses if there is one. */
export function withRemedy(message: string): string {
  const [, remedy] = REMEDIES.find(([says]) => says.test(message)) ?? [];
  return remedy === undefined ? message : `${message} (${remedy})`;
}
