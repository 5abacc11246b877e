/** Small audio files, whole and hostile. */

export interface WavFields {
  channels?: number;
  sampleRate?: number;
  /** The size of the chunk of samples by its header; default: the true one. */
  dataBytes?: number;
}

/** A tone of `hertz`; 0: silence. */
export function tone(seconds: number, hertz: number, sampleRate = 16_000): Int16Array {
  return Int16Array.from({ length: seconds * sampleRate }, (_, at) =>
    Math.round(12_000 * Math.sin((2 * Math.PI * hertz * at) / sampleRate)),
  );
}

export function wav(samples: Int16Array, { channels = 1, sampleRate = 16_000, dataBytes }: WavFields = {}): Buffer {
  const header = Buffer.alloc(44);
  const size = samples.byteLength;
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + size, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * channels * 2, 28);
  header.writeUInt16LE(channels * 2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(dataBytes ?? size, 40);
  return Buffer.concat([header, Buffer.from(samples.buffer, samples.byteOffset, size)]);
}

const BLOCK = 4096;

/** Frames of plain samples at 16 kHz. `declared`: samples by the header. */
export function flac(samples: Int16Array, declared = samples.length): Buffer {
  const info = Buffer.alloc(42);
  info.write('fLaC');
  info.writeUInt32BE(0x80000000 + 34, 4);
  info.writeUInt16BE(BLOCK, 8);
  info.writeUInt16BE(BLOCK, 10);
  const rateChannelsBits = (16_000n << 44n) | (15n << 36n) | BigInt(declared);
  info.writeBigUInt64BE(rateChannelsBits, 18);
  const frames: Buffer[] = [];
  for (let at = 0; at < samples.length; at += BLOCK)
    frames.push(flacFrame(samples.subarray(at, at + BLOCK), at / BLOCK));
  return Buffer.concat([info, ...frames]);
}

function flacFrame(samples: Int16Array, index: number): Buffer {
  // A block size of 16 bits follows, a rate of 16 kHz, one channel, 16 bits.
  const start = Buffer.from([0xff, 0xf8, 0x75, 0x08, index, (samples.length - 1) >> 8, (samples.length - 1) & 255]);
  const body = Buffer.alloc(1 + 2 * samples.length);
  body[0] = 0x02;
  for (const [at, sample] of samples.entries()) body.writeInt16BE(sample, 1 + 2 * at);
  const frame = Buffer.concat([start, Buffer.from([crc(start, 8, 0x07)]), body]);
  const end = Buffer.alloc(2);
  end.writeUInt16BE(crc(frame, 16, 0x8005));
  return Buffer.concat([frame, end]);
}

function crc(bytes: Buffer, bits: number, polynomial: number): number {
  const top = 1 << (bits - 1);
  let value = 0;
  for (const byte of bytes) {
    value ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit++) value = (value & top ? (value << 1) ^ polynomial : value << 1) & (2 * top - 1);
  }
  return value;
}
