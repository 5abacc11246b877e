/** Resolves when `condition` holds, which is checked after 1, 2, 4 ... ms, then every `pollMs`. Throws after `limitMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  limitMs = 60_000,
  pollMs = 25,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  for (let wait = 1; !(await condition()); wait = Math.min(2 * wait, pollMs)) {
    if (Date.now() > deadline) throw new Error(`Waited ${limitMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
