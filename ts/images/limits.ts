/** What pictures may be. A picture is judged by these before any part of it is decoded. */

/** Pictures in one request, those of earlier turns included. */
export const MOST_IMAGES = 16;

export const MIB = 1024 * 1024;
/** Bytes of one picture's file ... */
export const LARGEST_FILE = 20 * MIB;
/** ... and of all the files of one request, however they come. */
export const LARGEST_FILES = 64 * MIB;

/** Pixels, by the file's header: what the largest phones take, and 150 MB when decoded. */
export const MOST_PIXELS = 50_000_000;
export const LONGEST_SIDE = 16_384;
/** Of all pictures of one request. */
export const MOST_PIXELS_TOGETHER = 200_000_000;

/** From the first look at an address to the last byte of the picture, redirects included. */
export const FETCH_TIMEOUT_MS = 10_000;
export const MOST_REDIRECTS = 3;
/** Pictures of one request that are downloaded at the same time. */
export const MOST_DOWNLOADS = 4;
