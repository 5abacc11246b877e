// What `npm start` runs when everything is set up: the command that is named, such as `npm start -- desktop`, or `serve`.
import process from 'node:process';

if (process.argv[2]?.startsWith('-') ?? true) process.argv.splice(2, 0, 'serve');
await import('../../dist/cli.js');
