// Where a Chromium is that tests can drive; test/run.mjs asks as well, before it starts them.
import fs from 'node:fs';
import process from 'node:process';

const places = [
  process.env.CHASQUI_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** @returns {string | undefined} */
export function chromiumPath() {
  return places.find((place) => place && fs.existsSync(place));
}
