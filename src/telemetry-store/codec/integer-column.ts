/**
 * Whole numbers as bits: a predictor for each page, and Golomb-Rice codes of its errors (Rice, "Some practical universal
 * noiseless coding techniques", 1979). Layout in ../FORMAT.md.
 *
 * Sensor noise around a slow mean is best predicted by the mean of a few values, a counter by its last step,
 * a state by its last value; the encoder takes the predictor with the least error for each page.
 */

import type { ByteReader, ByteWriter } from './byte-writer.ts';

const PAGE = 1_024;
const GROUP = 32;
/** In place of a Rice parameter: groups of zeros follow. */
const ZEROS = 31;
const ZERO_GROUPS_MAX = 255;
/** Larger quotients are escaped: this many ones, then the number in 32 bits. */
const ESCAPE = 16;
/** Differences of values must stay below this, so that sums of eight are 32-bit numbers. */
const RANGE_MAX = 2 ** 27;

const PREDICTORS = 5;
const errors = new Float64Array(PREDICTORS);
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

/** The predictor with the least sum of errors over the page. */
function choosePredictor(values: Int32Array, start: number, end: number): number {
  errors.fill(0);
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
    errors[0] = (errors[0] as number) + Math.abs(value - last);
    errors[1] = (errors[1] as number) + Math.abs(value - 2 * last + second);
    errors[2] = (errors[2] as number) + Math.abs(value - ((last + second) >> 1));
    errors[3] = (errors[3] as number) + Math.abs(value - ((four + 2) >> 2));
    errors[4] = (errors[4] as number) + Math.abs(value - ((eight + 4) >> 3));
  }
  let best = 0;
  for (let predictor = 1; predictor < PREDICTORS; predictor++)
    if ((errors[predictor] as number) < (errors[best] as number)) best = predictor;
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

/** The Rice parameter with the fewest bits: the one that the mean suggests, or a neighbour. */
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
  const bits = new BitReader(reader);
  for (let start = 0; start < count; start += PAGE) {
    const end = Math.min(count, start + PAGE);
    const predictor = bits.window() >>> 29;
    bits.position += 3;
    readPage(bits, end - start);
    restore(values, start, end, predictor);
  }
  bits.finish(reader);
}

/** Reads the errors of a page into `residuals`. */
function readPage(bits: BitReader, count: number): void {
  for (let start = 0; start < count;) {
    bits.check();
    const head = bits.window();
    const parameter = head >>> 27;
    bits.position += 5;
    let end = Math.min(count, start + GROUP);
    if (parameter === ZEROS) {
      bits.position += 8;
      end = Math.min(count, start + ((head >>> 19) & 0xff) * GROUP);
      if (end === start) throw new RangeError('a run of no zeros');
      residuals.fill(0, start, end);
    } else if (parameter <= 15) bits.group(start, end, parameter);
    else bits.wideGroup(start, end, parameter);
    start = end;
  }
}

/** Most significant bit first. */
class BitReader {
  /** In bits. */
  position: number;
  readonly #view: DataView;
  readonly #endBits: number;

  constructor({ bytes, offset, end }: ByteReader) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.position = offset * 8;
    this.#endBits = end * 8;
  }

  /** The next 32 bits. */
  window(): number {
    return windowAt(this.#view, this.position);
  }

  /** @throws RangeError, beyond the end */
  check(): void {
    if (this.position > this.#endBits) throw new RangeError('the column ends too early');
  }

  finish(reader: ByteReader): void {
    this.check();
    reader.offset = (this.position + 7) >>> 3;
  }

  /** Reads errors of up to 15 plain bits each into `residuals`. */
  group(start: number, end: number, parameter: number): void {
    const view = this.#view;
    let { position } = this;
    for (let index = start; index < end; index++) {
      const bits = windowAt(view, position);
      const quotient = Math.clz32(~bits);
      let residual: number;
      if (quotient < ESCAPE) {
        // In two steps, because none of the bits is a shift by 32.
        residual = (quotient << parameter) | (((bits << (quotient + 1)) >>> 1) >>> (31 - parameter));
        position += quotient + 1 + parameter;
      } else {
        residual = windowAt(view, position + ESCAPE);
        position += ESCAPE + 32;
      }
      residuals[index] = (residual >>> 1) ^ -(residual & 1);
    }
    this.position = position;
  }

  /** The same for more plain bits, which do not fit one window. */
  wideGroup(start: number, end: number, parameter: number): void {
    for (let index = start; index < end; index++) {
      const quotient = Math.clz32(~this.window());
      const isEscaped = quotient >= ESCAPE;
      this.position += isEscaped ? ESCAPE : quotient + 1;
      const plain = this.window();
      const residual = isEscaped ? plain : (quotient << parameter) | (plain >>> (32 - parameter));
      this.position += isEscaped ? 32 : parameter;
      residuals[index] = (residual >>> 1) ^ -(residual & 1);
    }
  }
}

function windowAt(view: DataView, position: number): number {
  const at = position >>> 3;
  const shift = position & 7;
  return (view.getInt32(at) << shift) | (view.getUint8(at + 4) >>> (8 - shift));
}

/** From errors to values; predicts as `predict` does, but carries the sums along. */
function restore(values: Int32Array, start: number, end: number, predictor: number): void {
  let index = start;
  for (; index < Math.min(8, end); index++)
    values[index] = predict(values, index, predictor) + (residuals[index - start] as number);
  if (predictor === 0) restoreByLast(values, index, end, start);
  else if (predictor === 1) restoreByStep(values, index, end, start);
  else restoreByMean(values, index, end, start, Math.min(3, predictor - 1));
}

function restoreByLast(values: Int32Array, from: number, end: number, start: number): void {
  let last = values[from - 1] as number;
  for (let index = from; index < end; index++) {
    last = (last + (residuals[index - start] as number)) | 0;
    values[index] = last;
  }
}

function restoreByStep(values: Int32Array, from: number, end: number, start: number): void {
  for (let index = from; index < end; index++)
    values[index] =
      2 * (values[index - 1] as number) -
      (values[index - 2] as number) +
      (residuals[index - start] as number);
}

/** By the mean of two, four or eight values. */
function restoreByMean(values: Int32Array, from: number, end: number, start: number, power: number): void {
  const width = 1 << power;
  // The mean of two is rounded down.
  let sum = power === 1 ? 0 : width >>> 1;
  for (let back = 1; back <= width; back++) sum += values[from - back] as number;
  for (let index = from; index < end; index++) {
    const value = ((sum >> power) + (residuals[index - start] as number)) | 0;
    values[index] = value;
    sum = (sum + value - (values[index - width] as number)) | 0;
  }
}
