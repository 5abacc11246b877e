/** Pictures of the kind that the demo model has learnt to see. */
import type { Pixels } from './picture.js';

type Colour = readonly [number, number, number];

export interface Shape {
  kind: 'circle' | 'square';
  colour: Colour;
  /** The centre, and half the width; in pixels. */
  x: number;
  y: number;
  radius: number;
}

export const RED: Colour = [220, 20, 20];
export const BLUE: Colour = [0, 0, 255];
const WHITE: Colour = [255, 255, 255];

export function drawnShapes(width: number, height: number, shapes: readonly Shape[]): Pixels {
  const rgb = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const shape = shapes.find((shape) => covers(shape, x - shape.x, y - shape.y));
      rgb.set(shape?.colour ?? WHITE, 3 * (y * width + x));
    }
  }
  return { width, height, rgb };
}

function covers({ kind, radius }: Shape, dx: number, dy: number): boolean {
  return kind === 'circle' ? Math.hypot(dx, dy) <= radius : Math.max(Math.abs(dx), Math.abs(dy)) <= radius;
}
