/** The newest lines of the service log, for a report: those of a journal are not for the gateway to read. */
export class RecentLines {
  readonly #lines: string[] = [];
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(limits: { recentBytes: number }) {
    this.#mostBytes = limits.recentBytes;
  }

  add(line: string): void {
    const text = line.trimEnd();
    this.#lines.push(text);
    this.#bytes += text.length;
    while (this.#bytes > this.#mostBytes) this.#bytes -= this.#lines.shift()?.length ?? 0;
  }

  all(): readonly string[] {
    return [...this.#lines];
  }
}
