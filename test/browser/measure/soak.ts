// Whether the page grows: many requests, whose events the Developer view shows, with its memory before and after.
//
//   node --import tsx test/browser/measure/soak.ts [events]
import { goTo, openApp, startBrowser } from '../../support/browser.js';
import { removeFolder, startDesktop } from '../../support/start-desktop.js';

const wanted = Number(process.argv[2] ?? 10_000);
/** After so many its lists are full. */
const WARM_UP = 1500;
/** What the page may have more at the end than then. */
const MAX_GROWTH = { heapBytes: 5 * 2 ** 20, nodes: 500 };

const [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
const { page, complaints } = await openApp(browser, app);
await goTo(page, 'Developer');
const client = await page.context().newCDPSession(page);
const events = await app.watch();

async function measure(): Promise<{ heapBytes: number; nodes: number }> {
  // What the last frame has drawn is let go with the next one.
  await page.waitForTimeout(1500);
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  const { nodes } = await client.send('Memory.getDOMCounters');
  return { heapBytes: usedSize, nodes };
}

async function until(count: number): Promise<void> {
  while (events.seen.length < count) {
    const asked = Array.from({ length: 8 }, () => app.done('POST', '/app/tokenize', { content: 'one two three' }));
    await Promise.all(asked);
  }
}

await app.done('POST', '/api/v1/models/load', { model: 'chasqui-demo' });
await until(WARM_UP);
const before = await measure();
await until(WARM_UP + wanted);
const after = await measure();
events.close();
await browser.close();
await app.stop();
removeFolder(app.folder);

const growth = { heapBytes: after.heapBytes - before.heapBytes, nodes: after.nodes - before.nodes };
console.log(JSON.stringify({ events: events.seen.length, before, after, growth, complaints }));
const isFlat = growth.heapBytes <= MAX_GROWTH.heapBytes && growth.nodes <= MAX_GROWTH.nodes;
process.exitCode = isFlat && complaints.length === 0 ? 0 : 1;
