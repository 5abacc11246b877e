/** Names of image formats that cannot be read, by the first bytes of their files. */

/** ISO media files name their brands in the first box. */
const BRANDS: readonly (readonly [brand: RegExp, name: string])[] = [
  [/^avi[fs]$/, 'AVIF'],
  [/^he(i[cxms]|v[cmsx])$/, 'HEIC'],
  [/^m[is]f1$/, 'HEIF'],
];

const BEGINNINGS: readonly (readonly [beginning: string, name: string])[] = [
  ['\xff\x0a', 'JPEG XL'],
  ['\0\0\0\x0cJXL ', 'JPEG XL'],
  ['\xff\x4f\xff\x51', 'JPEG 2000'],
  ['\0\0\0\x0cjP  ', 'JPEG 2000'],
  ['II*\0', 'TIFF'],
  ['MM\0*', 'TIFF'],
  ['\0\0\x01\0', 'ICO'],
  ['8BPS', 'Photoshop'],
  ['%PDF', 'PDF'],
];

const SVG = /^\s*(<[?!][^>]*>\s*)*<svg[\s>]/i;
const MAX_TEXT = 1000;

/** Returns `undefined` for unknown bytes. */
export function unsupportedFormat(file: Buffer): string | undefined {
  const text = file.toString('latin1', 0, MAX_TEXT);
  if (text.startsWith('ftyp', 4)) return brandOf(text.slice(8, file.readUInt32BE(0)));
  return SVG.test(text) ? 'SVG' : BEGINNINGS.find(([beginning]) => text.startsWith(beginning))?.[1];
}

/** The major brand may be general, such as `mif1`; then a compatible brand is the specific one. */
function brandOf(box: string): string | undefined {
  const brands = Array.from({ length: box.length >> 2 }, (_, at) => box.slice(4 * at, 4 * at + 4));
  // The second is a version.
  brands.splice(1, 1);
  return BRANDS.find(([is]) => brands.some((brand) => is.test(brand)))?.[1];
}
