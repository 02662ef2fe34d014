/** Modbus registers as numbers and texts, by the types that device templates have. */

const SIZES: Readonly<Record<string, number>> = {
  u16: 1,
  i16: 1,
  u32: 2,
  i32: 2,
  f32: 2,
  u64: 4,
  i64: 4,
  f64: 4,
};

/** Registers that a value takes; `string8` takes eight. */
export const registersOf = (type: string): number => SIZES[type] ?? Number(type.replace('string', ''));

/** The value of the words of a register, the highest word first unless another order is given. */
export function valueOfWords(
  words: readonly number[],
  type: string,
  isLowFirst: boolean,
): number | bigint | string {
  const isText = type.startsWith('string');
  const view = new DataView(new ArrayBuffer(words.length * 2));
  for (const [index, word] of (isLowFirst && !isText ? words.toReversed() : words).entries())
    view.setUint16(index * 2, word);
  if (isText) return (new TextDecoder('latin1').decode(view).split('\0')[0] ?? '').trim();
  switch (type) {
    case 'i16':
      return view.getInt16(0);
    case 'u32':
      return view.getUint32(0);
    case 'i32':
      return view.getInt32(0);
    case 'u64':
      return view.getBigUint64(0);
    case 'i64':
      return view.getBigInt64(0);
    case 'f32':
      return view.getFloat32(0);
    case 'f64':
      return view.getFloat64(0);
    default:
      return view.getUint16(0);
  }
}
