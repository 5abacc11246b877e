/** Resolves once `condition` holds. The limit is generous: it only keeps a failing test from hanging. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  limitMs = 20_000,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Waited ${limitMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Resolves once `count` has begun and then not changed for a while. */
export async function untilAtRest(count: () => number, what: string): Promise<void> {
  let seen = -1;
  const atRest = async (): Promise<boolean> => {
    if (seen === count() && seen > 0) return true;
    seen = count();
    await new Promise((resolve) => setTimeout(resolve, 200));
    return false;
  };
  await until(atRest, what);
}
