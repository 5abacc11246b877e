import { fileURLToPath } from 'node:url';

export const DEMO_MODEL = fileURLToPath(new URL('../../prebuilds/demo/chasqui-demo.gguf', import.meta.url));
