// A thread that reads the text of one PDF file and ends. Plain JavaScript, like images/webp-worker.mjs.
import { parentPort, workerData } from 'node:worker_threads';
import { getDocumentProxy } from 'unpdf';

const { data, maxPages, maxCharacters } = workerData;

const pdf = await getDocumentProxy(data, { isEvalSupported: false, disableFontFace: true, verbosity: 0 });
let text = '';
let pages = 0;
while (pages < Math.min(pdf.numPages, maxPages) && text.length <= maxCharacters) {
  pages += 1;
  const page = await pdf.getPage(pages);
  const { items } = await page.getTextContent();
  const words = items.map(({ str = '', hasEOL }) => (hasEOL ? `${str}\n` : str)).join('');
  text += `${text === '' ? '' : '\n\n'}${words.trim()}`;
  page.cleanup();
}
const isWhole = pages === pdf.numPages && text.length <= maxCharacters;
parentPort.postMessage({ text: text.slice(0, maxCharacters), isWhole });
