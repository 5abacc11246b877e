/** The bundled pages of `ui/`. */
import { fileURLToPath } from 'node:url';

/** Build output; the path is the same from `ts` and `dist`. */
export const PAGES = fileURLToPath(new URL('../../dist/desktop/ui', import.meta.url));

/** Images and recordings come from messages and files. Scripts may set styles under this policy. */
export const CONTENT_POLICY = [
  "default-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');
