/** Reads image files as data URIs. */

export const maxImages = 16;
const maxBytes = 20e6;
const types = /^image\/(png|jpeg|webp|gif|bmp)$/;

export async function readImages(files: Iterable<File>): Promise<string[]> {
  const images = [...files].filter(({ type }) => type.startsWith('image/')).slice(0, maxImages);
  return await Promise.all(images.map(readImage));
}

function readImage(file: File): Promise<string> {
  if (!types.test(file.type))
    throw new Error(`${file.name} is ${file.type}; PNG, JPEG, WebP, GIF and BMP are supported.`);
  if (file.size > maxBytes) throw new Error(`${file.name} is larger than ${maxBytes / 1e6} MB.`);
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error(`Could not read ${file.name}.`));
    reader.readAsDataURL(file);
  });
}
