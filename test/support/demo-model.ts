import { fileURLToPath } from 'node:url';

/** The model that the tests of the model tiers run on. */
export const demoModelPath = fileURLToPath(new URL('../../prebuilds/demo/chasqui-demo.gguf', import.meta.url));
