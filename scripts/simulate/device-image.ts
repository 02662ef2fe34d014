/** Images of devices: what they answered at one moment, and the values that this means. */
import { parse } from 'yaml';
import { messageOf } from '../../src/lib/errors.ts';
import { nearNameHint } from '../../src/lib/text.ts';
import { UsageError } from '../support/arguments.ts';

/** A moment of a real or described device: what it answers, and the values that an independent reading gives. */
export interface DeviceImage {
  name: string;
  parameters?: Record<string, string | number | boolean>;
  /** Settings of the connection beyond the address. */
  settings?: Record<string, unknown>;
  /** Unit → function → address → words in hex (`'4366 8000'`), or a typed value (`[f32, 230.5]`); all of unit 1 without `units`. */
  registers?: RegisterImage;
  units?: Record<number, RegisterImage>;
  /** It answers under every unit, as many devices on a network do. */
  ignores_units?: boolean;
  /** Path → JSON. */
  answers?: Record<string, unknown>;
  /** Topic → payload. */
  messages?: Record<string, unknown>;
  /** What a meter sends by itself, one part after another; lines of a text end with CR LF. */
  telegrams?: ({ text: string } | { hex: string })[];
  /** Multicast group that the telegrams go to. */
  group?: string;
  /** Text of a datagram → answer; `*` for every other one. */
  datagrams?: Record<string, unknown>;
  /** Attribute → value; null for one that must have none. Properties and telemetry alike. Absent: nobody knows. */
  expect?: Record<string, unknown>;
  commands?: {
    run: string;
    with?: Record<string, unknown>;
    /** Registers that must hold these words afterwards: `{ 261: 100 }`. */
    writes?: Record<number, number>;
    /** Requests that must have arrived: `POST /rpc/Switch.Set?id=0&on=true`. */
    requests?: string[];
  }[];
}

export type RegisterImage = Partial<
  Record<
    'input' | 'holding' | 'coil' | 'discrete',
    Record<number, string | number | [type: string, value: number | string]>
  >
>;

/** Words of a typed value; independent of the code that reads it. */
function wordsOf(entry: string | number | readonly [string, number | string], isLowFirst: boolean): number[] {
  if (typeof entry === 'number') return [entry & 0xffff];
  if (typeof entry === 'string')
    return entry
      .trim()
      .split(/\s+/)
      .map((word) => Number.parseInt(word, 16));
  const [type, value] = entry;
  if (type.startsWith('string')) {
    const bytes = Buffer.alloc(Number(type.slice('string'.length)) * 2);
    bytes.write(String(value), 'latin1');
    return wordsOfBytes(bytes);
  }
  const bytes = Buffer.alloc(8);
  const size = { u16: 2, i16: 2, u32: 4, i32: 4, f32: 4, u64: 8, i64: 8, f64: 8 }[type];
  if (size === undefined)
    throw new UsageError(
      `[${type}, ${value}]: ${type} is no type of registers, such as u16, i32, f32 or string8`,
    );
  if (type === 'f32') bytes.writeFloatBE(Number(value));
  else if (type === 'f64') bytes.writeDoubleBE(Number(value));
  else bytes.writeBigUInt64BE(BigInt.asUintN(64, BigInt(value)));
  const used = type.startsWith('f') ? bytes.subarray(0, size) : bytes.subarray(8 - size);
  const words = wordsOfBytes(used);
  return isLowFirst ? words.reverse() : words;
}

const wordsOfBytes = (bytes: Buffer): number[] =>
  Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readUInt16BE(index * 2));

/** `input 52` → word. */
export function imageMemory(registers: RegisterImage, isLowFirst: boolean): Map<string, number> {
  const memory = new Map<string, number>();
  for (const [table, entries] of Object.entries(registers))
    for (const [address, entry] of Object.entries(entries ?? {}))
      for (const [index, word] of wordsOf(entry, isLowFirst).entries())
        memory.set(`${table} ${Number(address) + index}`, word);
  return memory;
}

/** The images in a YAML file. @throws UsageError */
export function parseImages(file: string, content: string): DeviceImage[] {
  let images: unknown;
  try {
    images = parse(content);
  } catch (error) {
    throw new UsageError(`${file} is no YAML: ${messageOf(error)}`);
  }
  if (!Array.isArray(images) || images.length === 0) throw new UsageError(`${file} has no list of images`);
  for (const image of images as object[])
    for (const key of Object.keys(image))
      if (!IMAGE_KEYS.includes(key))
        throw new UsageError(
          `${file}: an image has no ${key}${nearNameHint(key, IMAGE_KEYS)}; it may have ${IMAGE_KEYS.join(', ')}`,
        );
  return images as DeviceImage[];
}

const IMAGE_KEYS: readonly string[] = [
  'name',
  'parameters',
  'settings',
  'registers',
  'units',
  'ignores_units',
  'answers',
  'messages',
  'telegrams',
  'group',
  'datagrams',
  'expect',
  'commands',
] satisfies (keyof DeviceImage)[];
