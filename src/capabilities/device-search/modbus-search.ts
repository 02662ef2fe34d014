/** Identifies Modbus devices by scans of the built-in module. Only reads. */
import { GatewayError } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DeviceLibrary, RecognisedDevice, SearchQuestions } from '../library/index.ts';
import type { Modules, ScanEnd, ScanOrder, ScanUnit } from '../modules/index.ts';
import { endSentence } from '../modules/index.ts';
import type { FoundDevice } from './model.ts';

type Reads = SearchQuestions['tcpReads'];
type Line = Partial<Pick<ScanOrder, 'baud_rate' | 'parity' | 'stop_bits' | 'data_bits' | 'timeout_ms'>>;

interface ModbusSearchOptions {
  modules: Pick<Modules, 'scan'>;
  library: Pick<DeviceLibrary, 'recognise'>;
  questions: SearchQuestions;
  limits: Limits;
  onFound: (device: FoundDevice) => void;
  onProblem: (address: string, message: string) => void;
}

/** Ids that meters behind a converter have first. */
const FIRST_UNITS = [1, 2, 3];
/** A device that answers under this id, too, answers under all of them. */
const NOBODYS_UNIT = 246;
const PARITY = { none: 'N', even: 'E', odd: 'O' } as const;
const BUILT_IN = 'gateway';

/** Why a scan ended before its time. */
class Stopped extends Error {
  readonly end: ScanEnd;
  constructor(end: ScanEnd) {
    super(end.outcome);
    this.name = 'Stopped';
    this.end = end;
  }
}

export class ModbusSearch {
  readonly #options: ModbusSearchOptions;

  constructor(options: ModbusSearchOptions) {
    this.#options = options;
  }

  /** Units behind a network address. */
  async atAddress(uri: string, signal: AbortSignal): Promise<void> {
    const { questions, onFound, limits } = this.#options;
    const { scanSerialAnswerMs } = limits.field;
    const reads = new Map<number, Reads>(questions.units.map(({ unit, reads: own }) => [unit, own]));
    for (const unit of FIRST_UNITS) reads.set(unit, questions.tcpReads);
    const units = [...new Set([...FIRST_UNITS, ...reads.keys()])];
    const known = new Set<string>();
    await this.#guarded(uri, async () => {
      for (const unit of units) {
        // A unit that answered once is near, and so are the others behind the same converter.
        const line = known.size > 0 ? { timeout_ms: scanSerialAnswerMs } : {};
        const device = await this.#identify(uri, unit, reads.get(unit) ?? [], line, signal);
        if (!device) continue;
        const key = JSON.stringify([device.maker, device.model, device.serialNumber, device.templates]);
        if (device.serialNumber === undefined || !known.has(key)) onFound(device);
        known.add(key);
        if (unit === FIRST_UNITS[0] && (await this.#answersTo(uri, NOBODYS_UNIT, signal))) return;
      }
    });
  }

  /** Units on a serial line: with the settings of its port first, then with those that templates name. */
  async onLine(uri: string, signal: AbortSignal): Promise<void> {
    const { questions, limits, onFound } = this.#options;
    const lines: Line[] = [
      {},
      ...questions.lines.map(({ baud, parity, stopBits }) => ({
        baud_rate: baud,
        data_bits: 8 as const,
        parity: PARITY[parity],
        stop_bits: stopBits,
      })),
    ];
    await this.#guarded(uri, async () => {
      for (const line of lines) {
        const order = this.#order(uri, [1, limits.deviceSearch.lineUnits], line);
        const units = (await this.#scan(order, signal)).filter(isThere);
        for (const { unit_id: unit } of units) {
          const device = await this.#identify(uri, unit, questions.serialReads, line, signal);
          if (device) onFound({ ...device, transport: 'MODBUS_RTU' });
        }
        if (units.length > 0) return;
      }
    });
  }

  async #guarded(uri: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof Stopped) this.#options.onProblem(uri, endSentence(error.end, uri));
      else if (error instanceof GatewayError) this.#options.onProblem(uri, error.message);
      else throw error;
    }
  }

  #order(uri: string, [first, last]: readonly [number, number], line: Line): ScanOrder {
    const { scanAnswerMs, scanSerialAnswerMs } = this.#options.limits.field;
    return {
      uri,
      first_unit: first,
      last_unit: last,
      timeout_ms: uri.startsWith('tcp:') ? scanAnswerMs : scanSerialAnswerMs,
      ...line,
    };
  }

  /** Undefined when no unit answers. */
  async #identify(
    uri: string,
    unit: number,
    reads: Reads,
    line: Line,
    signal: AbortSignal,
  ): Promise<FoundDevice | undefined> {
    const order = this.#order(uri, [unit, unit], line);
    const [found] = await this.#scan({ ...order, reads, models: true }, signal);
    if (!found || !isThere(found)) return undefined;
    const first = await this.#options.library.recognise(evidenceOf(found, reads));
    const more = first
      .flatMap(({ identity }) => identity.reads)
      .slice(0, this.#options.limits.field.scanReads);
    if (more.length === 0) return foundDevice(order, found, first);
    const [again] = await this.#scan({ ...order, reads: more }, signal);
    const evidence = evidenceOf(found, reads);
    const registers = [...evidence.registers, ...(again ? evidenceOf(again, more).registers : [])];
    return foundDevice(order, found, await this.#options.library.recognise({ ...evidence, registers }));
  }

  async #answersTo(uri: string, unit: number, signal: AbortSignal): Promise<boolean> {
    const [found] = await this.#scan(this.#order(uri, [unit, unit], {}), signal);
    return found !== undefined && isThere(found);
  }

  /** @throws Stopped when the line or address cannot be used */
  async #scan(order: ScanOrder, signal: AbortSignal): Promise<ScanUnit[]> {
    const scan = await this.#options.modules.scan(BUILT_IN, order, signal);
    const units: ScanUnit[] = [];
    try {
      for (let event = await scan.next(); event !== undefined; event = await scan.next())
        if (event.type === 'scan_unit') units.push(event);
        else if (event.outcome !== 'complete') throw new Stopped(event);
    } finally {
      scan.close();
    }
    signal.throwIfAborted();
    return units;
  }
}

const isThere = ({ outcome }: ScanUnit): boolean => outcome === 'answers' || outcome === 'exception';

function evidenceOf({ sunspec, models, identification, reads = [] }: ScanUnit, asked: Reads) {
  const registers = asked.flatMap((read, index) => {
    const words = reads[index];
    return words ? [{ ...read, words }] : [];
  });
  return { sunspec, models, identification, registers };
}

function foundDevice(
  { uri, first_unit: unitId }: ScanOrder,
  { sunspec, identification }: ScanUnit,
  templates: readonly RecognisedDevice[],
): FoundDevice {
  const [only, ...others] = templates;
  const chosen = others.length === 0 ? only : undefined;
  return {
    transport: 'MODBUS_TCP',
    address: uri,
    unitId,
    maker: sunspec?.manufacturer ?? identification?.vendor ?? only?.maker,
    model:
      sunspec?.model ??
      identification?.model_name ??
      identification?.product_name ??
      identification?.product_code ??
      only?.model ??
      chosen?.name,
    serialNumber: sunspec?.serial_number ?? only?.serialNumber,
    templates: templates.map(({ id, name }) => ({ id, name })),
    connection: { address: uri, unit_id: unitId },
  };
}
