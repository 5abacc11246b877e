// Copies the dashboard's static files into dist: its own, the style sheets shared with the desktop app, and uPlot's.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(fileURLToPath(import.meta.url), '..', '..', '..');
const uPlot = path.join(root, 'node_modules', 'uplot');

export function copyDashboard(dist) {
  const folder = path.join(dist, 'cloud', 'dashboard', 'assets');
  fs.cpSync(path.join(root, 'ts', 'cloud', 'dashboard', 'assets'), folder, { recursive: true });
  fs.cpSync(path.join(root, 'ts', 'styles'), folder, { recursive: true });
  for (const name of ['uPlot.iife.min.js', 'uPlot.min.css']) {
    fs.copyFileSync(path.join(uPlot, 'dist', name), path.join(folder, name));
  }
  fs.copyFileSync(path.join(uPlot, 'LICENSE'), path.join(folder, 'uPlot.LICENSE'));
}
