/** A data URI of a BMP image with 320 × 240 pixels in blocks of random colors. */
export function randomBitmap(random: () => number): string {
  const [width, height, block] = [320, 240, 40];
  const file = Buffer.alloc(54 + 3 * width * height);
  file.write('BM');
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(width, 18);
  file.writeInt32LE(height, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(24, 28);
  const colours = Buffer.from(Array.from({ length: (3 * width * height) / block ** 2 }, () => random() * 256));
  for (let i = 0; i < 3 * width * height; i++) {
    const [x, y] = [Math.floor(i / 3) % width, Math.floor(i / 3 / width)];
    const at = Math.floor(y / block) * (width / block) + Math.floor(x / block);
    file[54 + i] = colours[3 * at + (i % 3)] as number;
  }
  return `data:image/bmp;base64,${file.toString('base64')}`;
}
