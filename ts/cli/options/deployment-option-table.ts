/** Options of `chasqui serve --mode serverless`. */
import { choice, inGroup, text, type UngroupedRows } from '../../options/option-row.js';

export const DEPLOYMENT_OPTIONS = inGroup('Serverless mode', {
  org: { ...text('org_id'), help: 'Organisation of the app', otherwise: 'none; required' },
  app: {
    ...text('app_id'),
    help: 'Name of the app; its address ends in /<org_id>/<app_id>',
    otherwise: 'none; required',
  },
  auth: {
    ...choice('private', 'public'),
    placeholder: 'who',
    help: 'Whether requests need an API key, see chasqui keys',
    otherwise: 'private',
  },
  keysFile: {
    type: 'path',
    help: 'JSON file with the API keys of a private app, such as a mounted secret; changes apply immediately',
    otherwise: 'the keys of chasqui keys',
  },
  appModels: {
    type: 'path',
    help: "JSON file with the paths and options of the app's models, written by the init container of the pod",
    otherwise: 'the models of the other options',
  },
} as const satisfies UngroupedRows);
