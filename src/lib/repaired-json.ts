/**
 * JSON as small devices write it, made into JSON. Most put a message together with `printf`, which writes what JSON has no
 * word for (`nan`, `-inf`), and with loops that leave a comma too many. What has one meaning is taken for it; a value
 * without a meaning is left out and named, so that it costs itself and not the message. Pure.
 */

interface RepairedJson {
  /** Strict JSON. */
  text: string;
  /** Names of members that were left out, as paths (`ENERGY.Power`); an item of a list is named by its list. */
  leftOut: string[];
}

/** Nesting is read by recursion. */
const DEPTH_MAX = 64;
/** More of one message is not worth naming. */
const LEFT_OUT_MAX = 100;

/** Byte order mark, as it is and as its bytes. */
const MARK = /^(?:\ufeff|\u00ef\u00bb\u00bf)/;
/** Up to where a value without quotes may reach. */
const BARE = /[^,{}[\]":]*/y;
const NUMBER = /^([+-]?)0*([1-9]\d*|)(?:\.(\d*))?([eE][+-]?\d{1,5})?$/;
const DIGITS = /^\d+$/;
const NAME = /^"[A-Za-z_$][\w$.-]*"$/;
const WORDS: Readonly<Record<string, string>> = { true: 'true', false: 'false', null: 'null', none: 'null' };
/** Characters of a string that stay as they are. */
const PLAIN = /[^"'\\\p{Cc}]+/uy;
/** Escapes that JSON has. */
const ESCAPE = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y;

/**
 * Undefined when the text has more faults than these: then its meaning is unknown. Texts that are JSON come back with
 * the same meaning, but slowly: to be called when they were refused.
 */
export function repairedJson(text: string): RepairedJson | undefined {
  // C ends a text at the first NUL; what follows are remains of its buffer.
  const [written = ''] = text.replace(MARK, '').split('\0', 1);
  return new Repair(written).document();
}

/** The text has a fault of another kind. */
class Unclear extends Error {}

class Repair {
  readonly #text: string;
  readonly #leftOut: string[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): RepairedJson | undefined {
    try {
      const value = this.#value('', 1);
      if (value === undefined || this.#next() !== '') return undefined;
      return { text: value, leftOut: this.#leftOut };
    } catch (error) {
      if (error instanceof Unclear) return undefined;
      throw error;
    }
  }

  /** Strict JSON of one value; undefined for one that has no meaning. */
  #value(path: string, depth: number): string | undefined {
    if (depth > DEPTH_MAX) throw new Unclear();
    const next = this.#next();
    if (next === '"' || next === "'") return this.#string(next);
    if (next === '{') return this.#object(path, depth);
    if (next === '[') return this.#array(path, depth);
    const bare = this.#bare();
    return Object.hasOwn(WORDS, bare.toLowerCase()) ? WORDS[bare.toLowerCase()] : numberOf(bare);
  }

  #object(path: string, depth: number): string {
    const members = new Map<string, string>();
    this.#at++;
    /** Name of the last value without quotes. */
    let last: string | undefined;
    for (let next = this.#next(); next !== '}'; next = this.#next()) {
      const key = next === ',' ? undefined : this.#key(next);
      if (key !== undefined) {
        this.#at++;
        last = '{["\''.includes(this.#next() || ' ') ? undefined : key;
        const memberPath = joined(path, key);
        this.#put(members, key, this.#value(memberPath, depth + 1), memberPath);
      } else if (next !== ',') {
        // `21,5`: the comma of another language cuts a number in two.
        if (last === undefined || !DIGITS.test(this.#bare())) throw new Unclear();
        this.#put(members, last, undefined, joined(path, last));
      }
      this.#separator('}');
    }
    this.#at++;
    return `{${Array.from(members, ([key, value]) => `${key}:${value}`).join(',')}}`;
  }

  /** The name of a member, up to its colon; undefined where none begins. Some leave its quotes out. */
  #key(next: string): string | undefined {
    const begin = this.#at;
    const isQuoted = next === '"' || next === "'";
    const key = isQuoted ? this.#string(next) : JSON.stringify(this.#bare());
    if (this.#next() === ':' && (isQuoted || NAME.test(key))) return key;
    if (isQuoted) throw new Unclear();
    this.#at = begin;
    return undefined;
  }

  #array(path: string, depth: number): string {
    const items: string[] = [];
    this.#at++;
    for (let next = this.#next(); next !== ']'; next = this.#next()) {
      if (next !== ',') {
        const value = this.#value(path, depth + 1);
        if (value === undefined) this.#note(path);
        // The others keep their places.
        items.push(value ?? 'null');
      }
      this.#separator(']');
    }
    this.#at++;
    return `[${items.join(',')}]`;
  }

  /** The last of equal names counts. */
  #put(members: Map<string, string>, key: string, value: string | undefined, path: string): void {
    if (value === undefined) {
      members.delete(key);
      this.#note(path);
    } else members.set(key, value);
  }

  #note(path: string): void {
    if (this.#leftOut.length < LEFT_OUT_MAX) this.#leftOut.push(path);
  }

  /** Between two members is a comma. */
  #separator(end: string): void {
    const next = this.#next();
    if (next === ',') this.#at++;
    else if (next !== end) throw new Unclear();
  }

  /** A string within its quotes: control characters are escaped, and so is a backslash that begins no escape. */
  #string(quote: string): string {
    let written = '"';
    this.#at++;
    for (;;) {
      written += this.#taken(PLAIN);
      const character = this.#text[this.#at++];
      if (character === undefined) throw new Unclear();
      if (character === quote) return `${written}"`;
      if (character === '\\') {
        const escape = this.#taken(ESCAPE);
        if (escape !== '') written += `\\${escape}`;
        // `\'` is an escape of other languages.
        else if (this.#text[this.#at] !== "'") written += '\\\\';
      } else written += JSON.stringify(character).slice(1, -1);
    }
  }

  #bare(): string {
    return this.#taken(BARE).trim();
  }

  /** The text that a sticky pattern matches from here on; empty when it does not. */
  #taken(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [taken = ''] = pattern.exec(this.#text) ?? [];
    this.#at += taken.length;
    return taken;
  }

  /** The next character that is no blank; empty at the end. */
  #next(): string {
    while (' \t\r\n\v\f'.includes(this.#text[this.#at] ?? 'x')) this.#at++;
    return this.#text[this.#at] ?? '';
  }
}

/** `key` is written as a JSON string. */
function joined(path: string, key: string): string {
  const name = JSON.parse(key) as string;
  return path === '' ? name : `${path}.${name}`;
}

/** `+5`, `007`, `.5` and `5.` mean one number; everything else that is no JSON means none. */
function numberOf(bare: string): string | undefined {
  const [match, sign, whole = '', fraction = '', exponent = ''] = NUMBER.exec(bare) ?? [];
  if (match === undefined || !/\d/.test(bare)) return undefined;
  const written = `${sign === '-' ? '-' : ''}${whole || '0'}${fraction && `.${fraction}`}${exponent}`;
  return Number.isFinite(Number(written)) ? written : undefined;
}
