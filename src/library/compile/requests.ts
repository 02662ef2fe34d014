/**
 * Which requests read the registers of a template: as few as the device's limits allow. A value and its scale factor
 * are never read by two requests, because the device may change both between them.
 */
import { registersOf } from '../../lib/register-words.ts';
import type { ModbusValue, Template, TemplateValue } from './template.ts';

/** Points of a SunSpec model: offset, type, point of the scale factor (sunspec.yml). */
export type SunSpecBook = Readonly<Record<string, Readonly<Record<string, SunSpecEntry>>>>;
type SunSpecPoint = readonly [offset: number, type: string, scale?: string];
type SunSpecEntry =
  | SunSpecPoint
  | { first_register: number; registers: number; points: Readonly<Record<string, SunSpecPoint>> };

/** Registers that one value needs, and how they lie. */
export interface RegisterField {
  kind: 'input' | 'holding' | 'coil' | 'discrete';
  unit: number | string | undefined;
  models: readonly number[] | undefined;
  first: number;
  count: number;
  type: string;
  isLowFirst: boolean;
  /** Register with the power of ten. */
  exponentAt: number | undefined;
}

interface RegisterRequest {
  kind: RegisterField['kind'];
  first: number;
  count: number;
  unit: number | string | undefined;
  models: readonly number[] | undefined;
}

/** Most registers of one kind that Modbus can address. */
const REGISTERS = 65_536;

const SUNSPEC_TYPES: Readonly<Record<string, string>> = { acc32: 'u32', sf: 'i16' };

/** The registers that a value of a Modbus device comes from; a message if it names none. */
export function fieldOf(value: TemplateValue, template: Template, book: SunSpecBook): RegisterField | string {
  if ('sunspec' in value) return sunSpecField(value.sunspec, book);
  if ('schedule' in value) return 'a schedule needs http, mqtt or clock';
  return 'as' in value ? registerField(value, template) : 'needs input, holding, coil, discrete or sunspec';
}

/** The field of a register value; a message if it names no register or several. */
function registerField(value: ModbusValue, template: Template): RegisterField | string {
  const named = (['input', 'holding', 'coil', 'discrete'] as const).filter(
    (kind) => value[kind] !== undefined,
  );
  const [kind] = named;
  if (kind === undefined || named.length > 1) return 'must have one of input, holding, coil, discrete';
  const isBit = kind === 'coil' || kind === 'discrete';
  const first = value[kind] ?? 0;
  const count = isBit ? 1 : registersOf(value.as);
  if (first + count > REGISTERS)
    return `${value.as} needs ${count} registers, and the last one is ${REGISTERS - 1}`;
  return {
    kind,
    unit: value.unit_id,
    models: undefined,
    first,
    count,
    type: isBit ? 'u16' : value.as,
    isLowFirst: (value.word_order ?? template.modbus?.word_order) === 'low_first',
    exponentAt: value.scale_register,
  };
}

/** The field of a SunSpec point such as `160:module[1].DCW`; a message if no model has it. */
export function sunSpecField(reference: string, book: SunSpecBook): RegisterField | string {
  const [models = '', path = ''] = reference.split(':');
  const numbers = models.split('|').map(Number);
  const places = numbers.map((model) => sunSpecPlace(model, path, book));
  const [first] = places;
  if (first === undefined || places.includes(undefined))
    return `no SunSpec model of ${models} has the point ${path}`;
  if (places.some((place) => place?.first !== first.first || place.type !== first.type))
    return `the models ${models} have the point ${path} in different places: name them one by one`;
  return { kind: 'holding', unit: undefined, models: numbers, isLowFirst: false, ...first };
}

function sunSpecPlace(
  model: number,
  path: string,
  book: SunSpecBook,
): Pick<RegisterField, 'first' | 'count' | 'type' | 'exponentAt'> | undefined {
  const points = Object.entries(book).find(([models]) => models.split('|').map(Number).includes(model))?.[1];
  const [, index, name = path] = /^module_(\d+)_(\w+)$/.exec(path) ?? [];
  const module = points?.module;
  const isInModule =
    index !== undefined && module !== undefined && !Array.isArray(module) && 'points' in module;
  const entry = isInModule ? module.points[name] : points?.[name];
  if (!Array.isArray(entry)) return undefined;
  const [offset, type, scale] = entry as SunSpecPoint;
  const start = isInModule ? module.first_register + module.registers * (Number(index) - 1) : 0;
  const exponent = scale === undefined ? undefined : points?.[scale];
  const plain = SUNSPEC_TYPES[type] ?? type;
  return {
    first: start + offset,
    count: registersOf(plain),
    type,
    exponentAt: Array.isArray(exponent) ? (exponent as SunSpecPoint)[0] : undefined,
  };
}

interface Span {
  first: number;
  end: number;
}

function spanOf({ first, count, exponentAt }: RegisterField): Span {
  const end = first + count;
  if (exponentAt === undefined) return { first, end };
  return { first: Math.min(first, exponentAt), end: Math.max(end, exponentAt + 1) };
}

const sourceOf = ({ kind, unit, models }: RegisterField): string =>
  `${kind} ${unit ?? ''} ${models?.join('|') ?? ''}`;

/** Requests for fields; for each field the number of its request. Fields of one source are joined across small gaps. */
export function planRequests(
  fields: readonly RegisterField[],
  limits: { registersMax: number; gap: number },
): { requests: RegisterRequest[]; requestOf: Map<RegisterField, number> } {
  const requests: RegisterRequest[] = [];
  const requestOf = new Map<RegisterField, number>();
  for (const source of new Set(fields.map(sourceOf))) {
    const own = fields.filter((field) => sourceOf(field) === source);
    const sorted = own.toSorted((a, b) => spanOf(a).first - spanOf(b).first || spanOf(a).end - spanOf(b).end);
    let open: Span | undefined;
    for (const field of sorted) {
      const span = spanOf(field);
      const end = Math.max(open?.end ?? 0, span.end);
      if (!open || span.first > open.end + limits.gap || end - open.first > limits.registersMax) {
        open = { ...span };
        requests.push({
          kind: field.kind,
          first: span.first,
          count: 0,
          unit: field.unit,
          models: field.models,
        });
      }
      open.end = Math.max(open.end, span.end);
      const request = requests.at(-1);
      if (request) request.count = open.end - request.first;
      requestOf.set(field, requests.length - 1);
    }
  }
  return { requests, requestOf };
}
