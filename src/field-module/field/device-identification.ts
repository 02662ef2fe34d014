/** Identity of a device by function 43/14. Source: MODBUS Application Protocol V1.1b3, section 6.21. Pure. */
import { Buffer } from 'node:buffer';
import { isUnreached, type ModbusAnswer, type ModbusFault } from './modbus-fault.ts';
import type { ModbusRequest } from './modbus-pdu.ts';

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

type Identified = { ok: true; identification: DeviceIdentification } | { ok: false; fault: ModbusFault };

type Ask = (request: ModbusRequest) => Promise<ModbusAnswer>;

const MORE_FOLLOWS = 0xff;
/** Category, conformity, whether more follows, next object, count. */
const HEAD_BYTES = 5;
/** Devices send their objects in one or two answers. */
const ANSWERS_MAX = 4;
const ILLEGAL_FUNCTION = 1;

/** Asks for the objects of the regular category; for the basic ones where the device refuses those, as a few do. */
export async function identifyDevice(ask: Ask): Promise<Identified> {
  const regular = await identifyBy(ask, 2);
  if (regular.ok || regular.fault.kind !== 'exception') return regular;
  const isAnswered = !isUnreached(regular.fault) && regular.fault.exceptionCode !== ILLEGAL_FUNCTION;
  return isAnswered ? identifyBy(ask, 1) : regular;
}

async function identifyBy(ask: Ask, category: 1 | 2): Promise<Identified> {
  let identification: DeviceIdentification = {};
  let start: number | undefined = 0;
  for (let answers = 0; answers < ANSWERS_MAX && start !== undefined; answers += 1) {
    const answer = await ask({ kind: 'read_identification', category, start });
    if (!answer.ok && answers === 0) return answer;
    // Values that were already read are worth more than the fault.
    if (!answer.ok) break;
    const part = readIdentification(answer.values);
    identification = { ...identification, ...part.found };
    start = part.next;
  }
  if (Object.keys(identification).length > 0) return { ok: true, identification };
  return { ok: false, fault: { kind: 'invalid_response', reason: 'an identification without texts' } };
}

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

/** Text of a device, as far as it is text: it ends at the first zero byte. */
export function textOf(bytes: readonly number[]): string {
  const end = bytes.indexOf(0);
  const text = Buffer.from(end === -1 ? bytes : bytes.slice(0, end)).toString('utf8');
  return text.replaceAll(/[\p{Cc}\p{Cf}\uFFFD]/gu, '').trim();
}
