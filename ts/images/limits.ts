/** Limits of images, checked before an image is decoded. */

/** Images in one request, including those of earlier turns. */
export const MAX_IMAGES = 100;

export const MIB = 1024 * 1024;
/** Bytes of one image's file ... */
export const MAX_FILE_BYTES = 20 * MIB;
/** ... and of all the files of one request, however they come. */
export const MAX_TOTAL_FILE_BYTES = 64 * MIB;

/** Pixels, by the file's header: as in photos of the largest phones; 150 MB when decoded. */
export const MAX_PIXELS = 50_000_000;
export const MAX_SIDE = 16_384;
/** Pixels of all images of one request together: about a hundred screens of 1920 x 1080. */
export const MAX_TOTAL_PIXELS = 250_000_000;

/** Seconds of all audio of one request together. */
export const MAX_AUDIO_SECONDS = 600;

/** The time from the first request to an address until the last byte of the image, redirects included. */
export const FETCH_TIMEOUT_MS = 10_000;
export const MAX_REDIRECTS = 3;
/** Images of one request that are downloaded at the same time ... */
export const MAX_DOWNLOADS = 4;
/** ... and of all requests of this process: each takes a connection. */
export const MAX_DOWNLOADS_TOGETHER = 64;

/** Requests that download or convert images, or wait for it. */
export const MAX_REQUESTS_LOADING = 512;
/** Bytes of downloaded files of all requests, from their arrival until all images of their request are loaded. */
export const MAX_BYTES_LOADING = 256 * MIB;
