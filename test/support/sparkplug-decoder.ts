/** Reads payloads of Sparkplug B by its sparkplug_b.proto, as a host application does; knows nothing of the encoder. */

export interface Metric {
  name: string;
  timestamp: bigint;
  datatype: number;
  is_historical?: boolean;
  is_null?: boolean;
  unit?: string;
  value?: bigint | number | boolean | string;
}

export interface Payload {
  timestamp: bigint;
  metrics: Metric[];
  seq?: bigint;
}

type Field = [number: number, value: bigint | DataView];

const INT64 = 4;

export function decodeSparkplug(bytes: Uint8Array): Payload {
  const payload: Payload = { timestamp: 0n, metrics: [] };
  for (const [field, value] of fields(viewOf(bytes)))
    if (field === 1) payload.timestamp = value as bigint;
    else if (field === 2) payload.metrics.push(metric(value as DataView));
    else if (field === 3) payload.seq = value as bigint;
    else throw new Error(`field ${field} of a payload`);
  return payload;
}

function metric(view: DataView): Metric {
  const read: Metric = { name: '', timestamp: 0n, datatype: 0 };
  for (const [field, value] of fields(view))
    switch (field) {
      case 1:
        read.name = text(value);
        break;
      case 3:
        read.timestamp = value as bigint;
        break;
      case 4:
        read.datatype = Number(value);
        break;
      case 5:
        read.is_historical = value === 1n;
        break;
      case 7:
        read.is_null = value === 1n;
        break;
      case 9:
        read.unit = unit(value as DataView);
        break;
      default:
        read.value = valueOf(field, value);
    }
  if (read.datatype === INT64 && typeof read.value === 'bigint') read.value = BigInt.asIntN(64, read.value);
  return read;
}

function valueOf(field: number, value: bigint | DataView): bigint | number | boolean | string {
  if (field === 11) return value as bigint;
  if (field === 13) return (value as DataView).getFloat64(0, true);
  if (field === 14) return value === 1n;
  if (field === 15) return text(value);
  throw new Error(`field ${field} of a metric`);
}

function unit(view: DataView): string {
  const members = new Map(fields(view));
  if (text(members.get(1)) !== 'engUnit') throw new Error('a property that nobody sends');
  return text(new Map(fields(members.get(2) as DataView)).get(8));
}

function* fields(view: DataView): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = view.getUint8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < view.byteLength) {
    const key = Number(varint());
    if ((key & 7) === 0) {
      yield [key >> 3, varint()];
      continue;
    }
    const length = (key & 7) === 1 ? 8 : Number(varint());
    yield [key >> 3, new DataView(view.buffer, view.byteOffset + at, length)];
    at += length;
  }
}

const text = (value: unknown): string => new TextDecoder().decode(value as DataView);

const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
