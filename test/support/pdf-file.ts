/** PDF files for tests. */
import { constants, deflateRawSync } from 'node:zlib';

export interface PdfOptions {
  /** Replaces the content stream of each page. */
  stream?: Buffer;
  /** Additional entries of the dictionary of each stream, such as a filter. */
  filter?: string;
  /** Additional entries of the trailer. */
  trailer?: string;
}

/** A file with one line of text per page. */
export function pdfOf(pages: readonly string[], { stream, filter = '', trailer = '' }: PdfOptions = {}): Buffer {
  const objects: Buffer[] = [];
  const add = (content: string | Buffer) => objects.push(Buffer.from(content));
  add('<< /Type /Catalog /Pages 2 0 R >>');
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`).join(' ');
  add(`<< /Type /Pages /Count ${pages.length} /Kids [${kids}] >>`);
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>');
  pages.forEach((text, index) => {
    const content = stream ?? Buffer.from(`BT /F1 12 Tf 72 720 Td (${text}) Tj ET`);
    add(
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> ' +
        `/Contents ${5 + 2 * index} 0 R >>`,
    );
    const head = `<< /Length ${content.length} ${filter} >>\nstream\n`;
    objects.push(Buffer.concat([Buffer.from(head), content, Buffer.from('\nendstream')]));
  });
  const file: Buffer[] = [Buffer.from('%PDF-1.4\n')];
  const offsets: number[] = [];
  let length = file[0]?.length ?? 0;
  const push = (part: Buffer) => {
    file.push(part);
    length += part.length;
  };
  objects.forEach((content, index) => {
    offsets.push(length);
    push(Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), content, Buffer.from('\nendobj\n')]));
  });
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  const end = `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${length}\n%%EOF\n`;
  push(Buffer.from(end));
  return Buffer.concat(file);
}

const CHUNK = 2 ** 20;

/** A small file. The content of its only page expands to `chunks` MiB. */
export function pdfBomb(chunks: number): Buffer {
  // Blocks that end with a full flush are independent of each other.
  const block = deflateRawSync(Buffer.alloc(CHUNK, ' '), { finishFlush: constants.Z_FULL_FLUSH });
  const last = deflateRawSync(Buffer.alloc(0));
  const stream = Buffer.concat([Buffer.from([0x78, 0x9c]), ...Array<Buffer>(chunks).fill(block), last]);
  return pdfOf([''], { stream, filter: '/Filter /FlateDecode' });
}
