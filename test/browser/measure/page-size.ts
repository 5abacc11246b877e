/** How large a page is, when what it does not use any more is gone. */
import type { CDPSession, Page } from 'playwright-core';

export interface PageSize {
  heapBytes: number;
  nodes: number;
  listeners: number;
}

export async function sizeOf(page: Page): Promise<PageSize> {
  // The next frame frees the drawings of the last one.
  await page.waitForTimeout(1500);
  const client: CDPSession = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  const { nodes, jsEventListeners } = await client.send('Memory.getDOMCounters');
  await client.detach();
  return { heapBytes: usedSize, nodes, listeners: jsEventListeners };
}

/** Allowed growth after each view has been shown once. */
export const MAX_GROWTH: PageSize = { heapBytes: 5 * 2 ** 20, nodes: 500, listeners: 100 };

export function growthOf(before: PageSize, after: PageSize): PageSize {
  return {
    heapBytes: after.heapBytes - before.heapBytes,
    nodes: after.nodes - before.nodes,
    listeners: after.listeners - before.listeners,
  };
}

export function isFlat({ heapBytes, nodes, listeners }: PageSize): boolean {
  return heapBytes <= MAX_GROWTH.heapBytes && nodes <= MAX_GROWTH.nodes && listeners <= MAX_GROWTH.listeners;
}
