// How long the app's page takes to its first paint, and until it can be used, on a first visit and on later ones.
//
//   node --import tsx test/browser/measure/first-paint.ts [visits]
import { startBrowser } from '../../support/browser.js';
import { removeFolder, startDesktop } from '../../support/start-desktop.js';

const visits = Number(process.argv[2] ?? 9);
const [app, browser] = await Promise.all([startDesktop(), startBrowser()]);
/** Of each visit, in milliseconds since it began. */
const times: { paint: number; usable: number }[] = [];
const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
const page = await context.newPage();
// The address with the token leads on to the page itself, which is what is measured.
await page.goto(`${app.url}/?token=${app.token}`);
for (let visit = 0; visit < visits; visit += 1) {
  const client = await context.newCDPSession(page);
  if (visit === 0) await client.send('Network.clearBrowserCache');
  await page.goto(app.url);
  await page.getByRole('heading', { level: 1 }).waitFor();
  times.push(
    await page.evaluate<{ paint: number; usable: number }>(`({
      paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
      usable: performance.now(),
    })`),
  );
}
await browser.close();
await app.stop();
removeFolder(app.folder);

const middle = (values: number[]) => values.sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
const [first, ...later] = times;
const figures = {
  firstVisit: { paintMs: Math.round(first?.paint ?? 0), usableMs: Math.round(first?.usable ?? 0) },
  laterVisits: {
    paintMs: Math.round(middle(later.map(({ paint }) => paint))),
    usableMs: Math.round(middle(later.map(({ usable }) => usable))),
  },
};
console.log(JSON.stringify(figures));
