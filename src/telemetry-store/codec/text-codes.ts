/** Texts by number: samples of a series repeat few of them. */
export class TextCodes {
  /** In order of first use. */
  readonly texts: string[] = [];
  #codes: Map<string, number> | undefined;
  #last = 0;

  codeOf(text: string): number {
    // Most samples repeat the one before.
    if (this.texts[this.#last] !== text) this.#last = this.#find(text);
    return this.#last;
  }

  #find(text: string): number {
    this.#codes ??= new Map(this.texts.map((known, code) => [known, code]));
    let code = this.#codes.get(text);
    if (code === undefined) {
      code = this.texts.push(text) - 1;
      this.#codes.set(text, code);
    }
    return code;
  }
}
