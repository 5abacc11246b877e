// Measures the time to first paint and to interactivity on the first visit and on later ones, and two figures that do
// not depend on other load: transferred bytes and CPU time.
//
//   node --import tsx test/browser/measure/first-paint.ts [visits]
import type { CDPSession, Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.js';
import { removeFolder, startDesktop } from '../../support/start-desktop.js';

interface Visit {
  /** Milliseconds since it began. */
  paintMs: number;
  usableMs: number;
  /** Milliseconds on a processor in the page's process: of everything, and of scripts. */
  taskMs: number;
  scriptMs: number;
  /** From the server, as they were sent; what the browser had kept is not among them. */
  bytes: number;
  requests: number;
}

const visits = Number(process.argv[2] ?? 10);
const [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
const page = await context.newPage();
// The address with the token leads on to the page itself, which is what is measured.
await page.goto(`${app.url}/?token=${app.token}`);
await page.getByRole('heading', { level: 1 }).waitFor();
const client = await context.newCDPSession(page);
await client.send('Performance.enable', { timeDomain: 'threadTicks' });
await client.send('Network.enable');
await client.send('Network.clearBrowserCache');
const measured: Visit[] = [];
for (let visit = 0; visit < visits; visit += 1) measured.push(await measure(page, client));
await browser.close();
await app.stop();
removeFolder(app.folder);

async function measure(page: Page, client: CDPSession): Promise<Visit> {
  let [bytes, requests] = [0, 0];
  const count = ({ encodedDataLength }: { encodedDataLength: number }) => {
    bytes += encodedDataLength;
    requests += 1;
  };
  // Discards the scripts of the last visit, otherwise their time would be counted again.
  await page.goto('about:blank');
  client.on('Network.loadingFinished', count);
  await page.goto(app.url);
  await page.getByRole('heading', { level: 1 }).waitFor();
  const times = await page.evaluate<{ paint: number; usable: number }>(`({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    usable: performance.now(),
  })`);
  const { metrics } = await client.send('Performance.getMetrics');
  client.off('Network.loadingFinished', count);
  const ms = (name: string) => (metrics.find((each) => each.name === name)?.value ?? 0) * 1000;
  return {
    paintMs: times.paint,
    usableMs: times.usable,
    taskMs: ms('TaskDuration'),
    scriptMs: ms('ScriptDuration'),
    bytes,
    requests,
  };
}

function middle(of: readonly Visit[]): Visit {
  const values = (name: keyof Visit) => of.map((visit) => visit[name]).sort((one, other) => one - other);
  const names = Object.keys(of[0] ?? {}) as (keyof Visit)[];
  const found = names.map((name) => [name, Math.round(values(name)[Math.floor(of.length / 2)] ?? 0)]);
  return Object.fromEntries(found) as Visit;
}

const [first, ...later] = measured;
console.log(JSON.stringify({ firstVisit: middle(first ? [first] : []), laterVisits: middle(later) }));
