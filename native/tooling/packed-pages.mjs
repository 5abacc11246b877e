// Links of the pages in a package: those to files that are not packed become plain text.
import fs from 'node:fs';
import path from 'node:path';

/** Matches images and links, with the part of the target before `#`. */
const LINK = /(!?)\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)/g;

export function isMissing(folder, page, target) {
  return !/^[a-z]+:/i.test(target) && !fs.existsSync(path.join(folder, path.dirname(page), target));
}

/** All Markdown pages below a folder, relative to it. */
export function pagesOf(folder) {
  return fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.md'));
}

export function unlinkMissing(folder) {
  for (const page of pagesOf(folder)) {
    const file = path.join(folder, page);
    const text = fs.readFileSync(file, 'utf8');
    fs.writeFileSync(
      file,
      text.replace(LINK, (whole, image, label, target) => {
        if (!isMissing(folder, page, target)) return whole;
        return image ? '' : label;
      }),
    );
  }
}
