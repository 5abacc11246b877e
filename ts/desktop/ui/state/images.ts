/** Reads image files as data URIs. */

export const maxImages = 16;
const maxBytes = 20e6;
const types = /^image\/(png|jpeg|webp|gif|bmp)$/;

export async function readImages(files: Iterable<File>): Promise<string[]> {
  return await Promise.all([...files].slice(0, maxImages).map(readImage));
}

async function readImage(file: File): Promise<string> {
  if (!types.test(file.type)) {
    throw new Error(`${file.name} cannot be attached. Attach PNG, JPEG, WebP, GIF or BMP images.`);
  }
  if (file.size > maxBytes) throw new Error(`${file.name} is larger than ${maxBytes / 1e6} MB.`);
  const url = await readUri(file);
  const image = new Image();
  image.src = url;
  await image.decode().catch(() => {
    throw new Error(`${file.name} is not a complete image.`);
  });
  return url;
}

function readUri(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error(`Could not read ${file.name}.`));
    reader.readAsDataURL(file);
  });
}
