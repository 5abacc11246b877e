const MAX_POLL_MS = 25;

/** Resolves when `condition` holds, which is checked after 1, 2, 4 ... ms, then every 25 ms. Throws after `limitMs`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  limitMs = 60_000,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  for (let wait = 1; !(await condition()); wait = Math.min(2 * wait, MAX_POLL_MS)) {
    if (Date.now() > deadline) throw new Error(`Waited ${limitMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
