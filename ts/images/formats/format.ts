export interface ImageSize {
  width: number;
  height: number;
}

export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/bmp' | 'image/webp';
