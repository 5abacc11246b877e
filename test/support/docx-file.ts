/** Word files for tests. */
import { deflateRawSync } from 'node:zlib';

/** A ZIP file with one entry. */
export function zipOf(name: string, content: Buffer): Buffer {
  const data = deflateRawSync(content);
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(8, 4);
  fields.writeUInt32LE(data.length, 14);
  fields.writeUInt32LE(content.length, 18);
  fields.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), data]);
  const entry = Buffer.concat([Buffer.from('PK\x01\x02\0\0'), fields, Buffer.alloc(14), Buffer.from(name)]);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, entry, end]);
}

export function docxOf(body: string): Buffer {
  return zipOf('word/document.xml', Buffer.from(`<w:document><w:body>${body}</w:body></w:document>`));
}
