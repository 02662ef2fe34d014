/** A part of a sentence that is more than letters: a link, a name in bold. What Preact draws, without its types. */
export type Piece = object | string | number | boolean | null | undefined;
