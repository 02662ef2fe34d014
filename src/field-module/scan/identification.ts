/** What a device says it is by function 43/14. Source: MODBUS Application Protocol V1.1b3, section 6.21. Pure. */
import { textOf } from './sunspec.ts';

const NAMES: ReadonlyMap<number, keyof DeviceIdentification> = new Map([
  [0, 'vendor'],
  [1, 'product_code'],
  [2, 'revision'],
  [4, 'product_name'],
  [5, 'model_name'],
]);

/** Absent: the device does not say it. */
export interface DeviceIdentification {
  vendor?: string;
  product_code?: string;
  revision?: string;
  product_name?: string;
  model_name?: string;
}

const MORE_FOLLOWS = 0xff;
/** Category, conformity, whether more follows, next object, count. */
const HEAD_BYTES = 5;

/** One answer, from the byte after its type on; `next`: the object with which the rest begins. */
export function readIdentification(values: readonly number[]): {
  found: DeviceIdentification;
  next: number | undefined;
} {
  const [, , more, next, count = 0] = values;
  const found: DeviceIdentification = {};
  for (let at = HEAD_BYTES, index = 0; index < count && at + 1 < values.length; index += 1) {
    const [id = 0, sizeBytes = 0] = values.slice(at, at + 2);
    const name = NAMES.get(id);
    const text = textOf(values.slice(at + 2, at + 2 + sizeBytes));
    if (name !== undefined && text !== '') found[name] = text;
    at += 2 + sizeBytes;
  }
  return { found, next: more === MORE_FOLLOWS ? next : undefined };
}
