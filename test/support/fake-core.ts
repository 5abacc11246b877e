/** A fake engine core: each call invokes the method of the same name. */
import type { EngineCore } from '../../ts/engine/core.js';

type Methods = Record<string, unknown>;

export function fakeCore(methods: Methods): EngineCore {
  const call = async (method: string, args: readonly unknown[]) =>
    (methods[method] as ((...args: readonly unknown[]) => unknown) | undefined)?.(...args);
  return { ...methods, call } as unknown as EngineCore;
}
