/** Throttles updates to one per frame. */
export class EachFrame<Value> {
  last: Value | undefined;
  #waiting = false;

  constructor(readonly show: (value: Value) => void) {}

  set(value: Value): void {
    this.last = value;
    if (this.#waiting) return;
    this.#waiting = true;
    // Hidden pages get no animation frames.
    if (document.hidden) setTimeout(this.#flush, 250);
    else requestAnimationFrame(this.#flush);
  }

  readonly #flush = () => {
    this.#waiting = false;
    if (this.last !== undefined) this.show(this.last);
  };
}
