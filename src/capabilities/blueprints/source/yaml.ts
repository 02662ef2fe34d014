/**
 * YAML 1.2 text → plain values with the order and the kinds of keys kept, never throwing and never growing
 * beyond the text's own size: aliases share what they name, and their expanded size is counted. The
 * library's own duplicate check and conversion are not used: the first takes quadratic time, the second
 * loses the order of numeric keys.
 */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  type Document,
  type ErrorCode,
  type Node,
  type Scalar,
} from 'yaml';
import { isInt64 } from '../../../lib/json.ts';
import { LIMITS } from '../../../lib/limits.ts';

export type YamlKey = string | number | boolean | null;
export type YamlMap = Map<YamlKey, YamlValue>;
export type YamlValue = string | number | boolean | null | YamlValue[] | YamlMap;

interface ParsedYaml {
  value: YamlValue;
  /** Texts `<file>: line 12, column 3: …`; the value is usable only when there are none. */
  problems: string[];
}

/** Replacements for texts of the parser that would not help an author. */
const MESSAGES: Partial<Record<ErrorCode, string>> = {
  MULTIPLE_DOCS: 'more than one document',
  RESOURCE_EXHAUSTION: 'nested too deeply',
};

/** Parses one document. Problems are prefixed with `fileName`. */
export function parseYaml(text: string, fileName: string): ParsedYaml {
  if (hasTooManyTokens(text)) return { value: null, problems: [`${fileName}: too many values`] };
  const lines = new LineCounter();
  let document: Document.Parsed;
  try {
    document = parseDocument(text, {
      lineCounter: lines,
      uniqueKeys: false,
      prettyErrors: false,
      version: '1.2',
    });
  } catch (error) {
    // The parser recurses, so text nested deeply enough exhausts the stack.
    return {
      value: null,
      problems: [`${fileName}: ${error instanceof RangeError ? 'nested too deeply' : 'unreadable'}`],
    };
  }
  const problems = document.errors.map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    const message = MESSAGES[error.code] ?? error.message.split('\n')[0] ?? error.code;
    return `${fileName}: line ${line}, column ${col}: ${message}`;
  });
  if (problems.length > 0) return { value: null, problems };
  const converter = new Converter(fileName, lines);
  const value = converter.convert(document.contents, 0);
  return { value, problems: converter.problems };
}

/** A document costs by its tokens, of which two megabytes hold millions; those are counted at a tenth of the cost. */
function hasTooManyTokens(text: string): boolean {
  let count = 0;
  for (const _ of new Lexer().lex(text)) if (++count > LIMITS.blueprints.manifestTokens) return true;
  return false;
}

/** Perhaps beyond 2^53, in any spelling; shorter ones are exact. */
const INTEGER = /^(?:[-+]?\d{16,400}|0x[\da-fA-F]{14,400}|0o[0-7]{18,400})$/;

/** Merge keys are not in YAML 1.2, but authors use them and other readers know them. */
const MERGE_KEY = '<<';

class Converter {
  readonly problems: string[] = [];
  readonly #fileName: string;
  readonly #lines: LineCounter;
  /** Anchored nodes seen so far, in document order; a later anchor of the same name replaces the earlier. */
  readonly #anchors = new Map<string, { value: YamlValue; nodes: number }>();
  /** Nodes of the expanded document; an alias counts with all nodes that it repeats. */
  #nodes = 0;

  constructor(fileName: string, lines: LineCounter) {
    this.#fileName = fileName;
    this.#lines = lines;
  }

  convert(node: Node | null, depth: number): YamlValue {
    if (node === null) return null;
    if (depth > LIMITS.blueprints.manifestDepth) return this.#fail(node, 'nested too deeply');
    const before = this.#nodes++;
    if (this.#nodes > LIMITS.blueprints.manifestNodes) return this.#fail(node, 'too many values');
    if (isAlias(node)) return this.#resolve(node, node.source);
    let value: YamlValue;
    if (isMap(node)) value = this.#map(node.items, depth);
    else if (isSeq(node)) value = node.items.map((item) => this.convert(item as Node | null, depth + 1));
    else value = isScalar(node) ? this.#scalar(node) : null;
    const anchor = (node as { anchor?: string }).anchor;
    if (anchor !== undefined) this.#anchors.set(anchor, { value, nodes: this.#nodes - before });
    return value;
  }

  #scalar(node: Scalar): YamlValue {
    const { value, source = '' } = node;
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) return this.#fail(node, 'the number is not finite');
      const exact = INTEGER.test(source) ? BigInt(source) : undefined;
      if (exact !== undefined && !isInt64(exact))
        return this.#fail(node, 'the integer does not fit into 64 bits');
      if (exact !== undefined && exact !== BigInt(value))
        return this.#fail(node, 'the integer cannot be kept exactly: write it as a text');
    }
    return scalarOf(value);
  }

  #resolve(node: Node, name: string): YamlValue {
    const target = this.#anchors.get(name);
    if (target === undefined) return this.#fail(node, `unresolved alias "${name}"`);
    this.#nodes += target.nodes;
    return target.value;
  }

  #map(items: { key: unknown; value: unknown }[], depth: number): YamlMap {
    const map: YamlMap = new Map();
    const names = new Set<string>();
    const merged: YamlValue[] = [];
    for (const item of items) {
      const keyNode = item.key as Node | null;
      const key = this.convert(keyNode, depth + 1);
      if (typeof key === 'object' && key !== null) {
        this.#fail(keyNode, 'a key must be a single value');
        continue;
      }
      const name = String(key);
      if (names.has(name)) {
        const line = this.#lines.linePos(keyNode?.range?.[0] ?? 0).line;
        this.#report(`${this.#fileName}: line ${line}: duplicate key "${name}"`);
        continue;
      }
      names.add(name);
      // Would change the prototype of the object that is made of the map in the end.
      if (name === '__proto__') this.#fail(keyNode, 'key "__proto__" is not allowed');
      else if (name === MERGE_KEY) merged.push(this.convert(item.value as Node | null, depth + 1));
      else map.set(key, this.convert(item.value as Node | null, depth + 1));
    }
    for (const source of merged.flat()) if (source instanceof Map) this.#merge(map, names, source);
    return map;
  }

  /** Adds entries that the map does not have itself. */
  #merge(map: YamlMap, names: Set<string>, source: YamlMap): void {
    for (const [key, value] of source) {
      if (names.has(String(key))) continue;
      names.add(String(key));
      map.set(key, value);
    }
  }

  #fail(node: Node | null, problem: string): null {
    const { line, col } = this.#lines.linePos(node?.range?.[0] ?? 0);
    this.#report(`${this.#fileName}: line ${line}, column ${col}: ${problem}`);
    return null;
  }

  #report(problem: string): void {
    if (this.problems.length <= LIMITS.blueprints.problems) this.problems.push(problem);
  }
}

function scalarOf(value: unknown): YamlValue {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return value === null || value === undefined ? null : JSON.stringify(value);
}

/** The map as a plain object (keys as text), its values converted in depth. */
export function plainOf(value: YamlValue): unknown {
  if (Array.isArray(value)) return value.map(plainOf);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...value].map(([key, item]) => [String(key), plainOf(item)]));
}
