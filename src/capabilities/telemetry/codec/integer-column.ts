/**
 * Whole numbers as bits: a predictor per page, Golomb-Rice codes per group of what it missed by (Rice, "Some
 * practical universal noiseless coding techniques", 1979). Layout in ../FORMAT.md.
 *
 * Sensor noise around a slow mean is best predicted by the mean of a few values, a counter by its last step,
 * a state by its last value; the encoder takes whatever misses least in each page.
 */
import type { ByteReader, ByteWriter } from './byte-writer.ts';

const PAGE = 1_024;
const GROUP = 32;
/** Code of the Rice parameter that says "groups of zeros follow". */
const ZEROS = 31;
const ZERO_GROUPS_MAX = 255;
/** Quotients from here on are escaped: so many ones, then the number in 32 bits. */
const ESCAPE = 16;
/** Differences of values must stay below this, so that sums of eight are 32-bit numbers. */
const RANGE_MAX = 2 ** 27;

const PREDICTORS = 5;
const misses = new Float64Array(PREDICTORS);
/** Residuals of one page, zigzag. */
const residuals = new Int32Array(PAGE);

/** True when the values fit this coding. */
export function fitsIntegerColumn(minimum: number, maximum: number): boolean {
  return maximum - minimum < RANGE_MAX;
}

/** Writes `values[0..count)`, all whole and relative to a base, so that they fit 32 bits. */
export function writeIntegerColumn(out: ByteWriter, values: Int32Array, count: number): void {
  const bits = new BitWriter(out);
  for (let start = 0; start < count; start += PAGE) {
    const end = Math.min(count, start + PAGE);
    const predictor = choosePredictor(values, start, end);
    bits.put(predictor, 3);
    for (let index = start; index < end; index++) {
      const residual = (values[index] as number) - predict(values, index, predictor);
      residuals[index - start] = (residual << 1) ^ (residual >> 31);
    }
    writePage(bits, end - start);
  }
  bits.finish();
}

function predict(values: Int32Array, index: number, predictor: number): number {
  if (index === 0) return 0;
  const last = values[index - 1] as number;
  if (predictor === 0 || index < 8) return last;
  const second = values[index - 2] as number;
  if (predictor === 1) return 2 * last - second;
  if (predictor === 2) return (last + second) >> 1;
  const four = last + second + (values[index - 3] as number) + (values[index - 4] as number);
  if (predictor === 3) return (four + 2) >> 2;
  const eight =
    (values[index - 5] as number) +
    (values[index - 6] as number) +
    (values[index - 7] as number) +
    (values[index - 8] as number);
  return (four + eight + 4) >> 3;
}

/** The predictor with the least sum of misses over the page. */
function choosePredictor(values: Int32Array, start: number, end: number): number {
  misses.fill(0);
  for (let index = Math.max(start, 8); index < end; index++) {
    const value = values[index] as number;
    const last = values[index - 1] as number;
    const second = values[index - 2] as number;
    const four = last + second + (values[index - 3] as number) + (values[index - 4] as number);
    const eight =
      four +
      (values[index - 5] as number) +
      (values[index - 6] as number) +
      (values[index - 7] as number) +
      (values[index - 8] as number);
    misses[0] = (misses[0] as number) + Math.abs(value - last);
    misses[1] = (misses[1] as number) + Math.abs(value - 2 * last + second);
    misses[2] = (misses[2] as number) + Math.abs(value - ((last + second) >> 1));
    misses[3] = (misses[3] as number) + Math.abs(value - ((four + 2) >> 2));
    misses[4] = (misses[4] as number) + Math.abs(value - ((eight + 4) >> 3));
  }
  let best = 0;
  for (let predictor = 1; predictor < PREDICTORS; predictor++)
    if ((misses[predictor] as number) < (misses[best] as number)) best = predictor;
  return best;
}

function writePage(bits: BitWriter, count: number): void {
  for (let start = 0; start < count;) {
    const zeroGroups = countZeroGroups(start, count);
    if (zeroGroups > 0) {
      bits.put(ZEROS, 5);
      bits.put(zeroGroups, 8);
      start = Math.min(count, start + zeroGroups * GROUP);
      continue;
    }
    const end = Math.min(count, start + GROUP);
    const parameter = chooseParameter(start, end);
    bits.put(parameter, 5);
    for (let index = start; index < end; index++) bits.rice(residuals[index] as number, parameter);
    start = end;
  }
}

function countZeroGroups(start: number, count: number): number {
  let groups = 0;
  for (let index = start; index < count && groups < ZERO_GROUPS_MAX; groups++) {
    const end = Math.min(count, index + GROUP);
    for (; index < end; index++) if (residuals[index] !== 0) return groups;
  }
  return groups;
}

/** The Rice parameter with the fewest bits, found from the mean and its neighbours. */
function chooseParameter(start: number, end: number): number {
  let sum = 0;
  for (let index = start; index < end; index++) sum += (residuals[index] as number) >>> 0;
  const mean = sum / (end - start);
  const guess = mean < 1 ? 0 : Math.min(29, Math.floor(Math.log2(mean)));
  let best = guess;
  let bestBits = Number.POSITIVE_INFINITY;
  for (let parameter = Math.max(0, guess - 1); parameter <= Math.min(29, guess + 1); parameter++) {
    let cost = (end - start) * (parameter + 1);
    for (let index = start; index < end; index++) cost += (residuals[index] as number) >>> parameter;
    if (cost >= bestBits) continue;
    bestBits = cost;
    best = parameter;
  }
  return best;
}

/** Most significant bit first. */
class BitWriter {
  readonly #out: ByteWriter;
  #accumulator = 0;
  #filled = 0;

  constructor(out: ByteWriter) {
    this.#out = out;
  }

  /** Up to 24 bits. */
  put(value: number, count: number): void {
    this.#accumulator = (this.#accumulator << count) | value;
    this.#filled += count;
    this.#out.reserve(4);
    while (this.#filled >= 8) {
      this.#filled -= 8;
      this.#out.bytes[this.#out.length++] = this.#accumulator >>> this.#filled;
    }
    this.#accumulator &= (1 << this.#filled) - 1;
  }

  rice(value: number, parameter: number): void {
    const quotient = value >>> parameter;
    if (quotient >= ESCAPE) {
      this.put(0xffff, 16);
      this.put(value >>> 16, 16);
      this.put(value & 0xffff, 16);
      return;
    }
    this.put(((1 << quotient) - 1) << 1, quotient + 1);
    if (parameter > 16) {
      this.put((value >>> 16) & ((1 << (parameter - 16)) - 1), parameter - 16);
      this.put(value & 0xffff, 16);
    } else if (parameter > 0) this.put(value & ((1 << parameter) - 1), parameter);
  }

  finish(): void {
    if (this.#filled > 0) this.put(0, 8 - this.#filled);
  }
}

/**
 * Reads `count` values; at least four bytes must follow the column in the buffer.
 * @throws RangeError, when the bits end too early
 */
export function readIntegerColumn(reader: ByteReader, values: Int32Array, count: number): void {
  const { bytes } = reader;
  const endBits = reader.end * 8;
  let position = reader.offset * 8;

  /** The next 32 bits. */
  const window = (): number => {
    const at = position >>> 3;
    const shift = position & 7;
    const high =
      ((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number);
    return shift === 0 ? high : (high << shift) | ((bytes[at + 4] as number) >>> (8 - shift));
  };

  for (let start = 0; start < count; start += PAGE) {
    const end = Math.min(count, start + PAGE);
    const predictor = window() >>> 29;
    position += 3;
    for (let index = start; index < end;) {
      if (position > endBits) throw new RangeError('the column ends too early');
      const head = window();
      const parameter = head >>> 27;
      position += 5;
      if (parameter === ZEROS) {
        const groups = (head >>> 19) & 0xff;
        position += 8;
        const stop = Math.min(end, index + groups * GROUP);
        if (stop === index) throw new RangeError('a run of no zeros');
        for (; index < stop; index++) values[index] = predict(values, index, predictor);
        continue;
      }
      const stop = Math.min(end, index + GROUP);
      for (; index < stop; index++) {
        const bits = window();
        const quotient = Math.clz32(~bits);
        let residual: number;
        if (quotient >= ESCAPE) {
          position += ESCAPE;
          residual = window();
          position += 32;
        } else if (parameter === 0) {
          residual = quotient;
          position += quotient + 1;
        } else if (parameter <= 15) {
          residual = (quotient << parameter) | ((bits << (quotient + 1)) >>> (32 - parameter));
          position += quotient + 1 + parameter;
        } else {
          position += quotient + 1;
          residual = (quotient << parameter) | (window() >>> (32 - parameter));
          position += parameter;
        }
        values[index] = predict(values, index, predictor) + ((residual >>> 1) ^ -(residual & 1));
      }
    }
  }
  if (position > endBits) throw new RangeError('the column ends too early');
  reader.offset = (position + 7) >>> 3;
}
