/** Exports for deployment scripts: `import { app } from 'chasqui/cloud'`. */
export { type App, type AppOptions, app, type Duration, type Size } from './script/app.js';
