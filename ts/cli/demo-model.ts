import { fileURLToPath } from 'node:url';

/** The model that comes with chasqui. */
export const DEMO_MODEL = fileURLToPath(new URL('../../prebuilds/demo/chasqui-demo.gguf', import.meta.url));
