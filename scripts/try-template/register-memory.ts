/** Words of a device by unit, table and address: what its answers said, or what an image has. */
import type { RegisterField } from '#library';

export type RegisterTable = RegisterField['kind'];

/** Where the chain of SunSpec models may begin, the text that is there, and how it ends. */
const SUNSPEC_BASES = [40_000, 50_000, 0];
const SUNSPEC_MARK = [0x5375, 0x6e53];
const SUNSPEC_MODELS_MAX = 60;

export class RegisterMemory {
  readonly #words = new Map<string, number>();

  get size(): number {
    return this.#words.size;
  }

  put(unitId: number, table: RegisterTable, address: number, word: number): void {
    this.#words.set(`${unitId} ${table} ${address}`, word);
  }

  /** The words of a field, and the address of the first; undefined until the device has sent them. */
  wordsOf(field: RegisterField, unitId: number): { address: number; words: number[] } | undefined {
    const base = field.models ? this.#modelAt(unitId, field.models) : 0;
    if (base === undefined) return undefined;
    const address = base + field.first;
    const words = Array.from({ length: field.count }, (_, index) =>
      this.#words.get(`${unitId} ${field.kind} ${address + index}`),
    );
    return words.includes(undefined) ? undefined : { address, words: words as number[] };
  }

  /** Address of the first of the models that the chain of the device has. */
  #modelAt(unitId: number, models: readonly number[]): number | undefined {
    const word = (address: number): number | undefined => this.#words.get(`${unitId} holding ${address}`);
    const base = SUNSPEC_BASES.find((at) => SUNSPEC_MARK.every((mark, index) => word(at + index) === mark));
    if (base === undefined) return undefined;
    let at = base + SUNSPEC_MARK.length;
    for (let count = 0; count < SUNSPEC_MODELS_MAX; count += 1) {
      const [model, length] = [word(at), word(at + 1)];
      if (model === undefined || length === undefined) return undefined;
      if (models.includes(model)) return at;
      at += 2 + length;
    }
    return undefined;
  }

  /** Unit → table → first address → words in hex: neighbours in one line, as images have them. */
  toImage(): Record<string, Record<string, Record<number, string>>> {
    const units: Record<string, Record<string, Record<number, string>>> = {};
    const sorted = [...this.#words]
      .map(([key, word]) => ({ place: key.split(' ') as [string, string, string], word }))
      .toSorted(({ place: a }, { place: b }) => compare(a, b));
    let open = { unit: '', table: '', first: 0, next: -1 };
    for (const { place, word } of sorted) {
      const [unit, table] = place;
      const address = Number(place[2]);
      const tables = (units[unit] ??= {});
      const lines = (tables[table] ??= {});
      const isNext = open.unit === unit && open.table === table && open.next === address;
      if (!isNext || address - open.first >= WORDS_PER_LINE) open = { unit, table, first: address, next: 0 };
      open.next = address + 1;
      const before = lines[open.first];
      lines[open.first] = before === undefined ? hex(word) : `${before} ${hex(word)}`;
    }
    return units;
  }
}

const WORDS_PER_LINE = 16;

const compare = (a: readonly [string, string, string], b: readonly [string, string, string]): number =>
  Number(a[0]) - Number(b[0]) || a[1].localeCompare(b[1]) || Number(a[2]) - Number(b[2]);

/** A register as four digits. */
export const hex = (word: number): string => word.toString(16).toUpperCase().padStart(4, '0');
