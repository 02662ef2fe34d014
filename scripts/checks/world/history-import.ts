/**
 * Brings old telemetry into the gateway, as somebody does who moves a site to another box: it keeps the store
 * sealing, rolling up and letting samples expire, and what was taken in is known to the last digit.
 */
import type { Clock } from '../../../src/platform/clock/index.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  type GatewayClient,
  GatewayRefusal,
  GatewayUnreachable,
  inParallel,
  provisionDevice,
} from '../../support/gateway-client.ts';
import { parseCsv } from '../../../src/lib/csv.ts';
import type { Problem } from './journal.ts';
import { type Attribute, sampleValue } from './samples.ts';

/** The gateway keeps samples for 8 days here, minutes for 20: see `HISTORY_OPTIONS`. */
const AGE_DAYS = { first: 9, minutes: 18 };
const DAY_S = 86_400;
const MINUTE_S = 60;
const QUARTER_S = 900;
/** A piece is one import; each is a quarter hour, so that no roll-up cell has samples of two of them. */
const PIECES_PER_DAY = 4;
const IMPORT_TIMEOUT_MS = 60_000;
const AGGREGATIONS = ['avg', 'min', 'max', 'last'] as const;
type Aggregation = (typeof AGGREGATIONS)[number];
const QUESTIONS_AT_ONCE = 4;

/** Housekeeping as often as a check of minutes needs it. */
export const HISTORY_OPTIONS: Readonly<Record<string, string>> = {
  GATEWAY_TELEMETRY_OPEN_SAMPLES: '150000',
  GATEWAY_TELEMETRY_SAMPLE_DAYS: '8',
  GATEWAY_TELEMETRY_MINUTE_DAYS: '20',
  GATEWAY_TELEMETRY_QUARTER_DAYS: '400',
};

export interface HistoryImportOptions {
  client: GatewayClient;
  /** Ids of devices that nobody else writes to, and a number for each that no other device has. */
  devices: readonly { id: string; number: number }[];
  attributes: readonly Attribute[];
  clock: Clock;
}

export interface Piece {
  fromS: number;
  granularityS: number;
}

const DEVICES = 8;

/** With devices of its own, numbered from `firstNumber` on. */
export async function createHistoryImport(
  { attributes, client, clock }: Pick<HistoryImportOptions, 'attributes' | 'client' | 'clock'>,
  firstNumber: number,
): Promise<HistoryImport> {
  const blueprintId = await batteryInverterBlueprint(client);
  const numbers = Array.from({ length: DEVICES }, (_, index) => firstNumber + index);
  const devices = await inParallel(numbers, QUESTIONS_AT_ONCE, async (number) => {
    const { id } = await provisionDevice(client, `History ${number}`);
    await assignBlueprint(client, id, blueprintId);
    return { id, number };
  });
  const numeric = attributes.filter(({ type }) => type === 'float' || type === 'integer');
  return new HistoryImport({ client, devices, attributes: numeric, clock });
}

export class HistoryImport {
  readonly #options: HistoryImportOptions;
  readonly #todayS: number;
  readonly #acknowledged: Piece[] = [];
  #begun = 0;

  constructor(options: HistoryImportOptions) {
    this.#options = options;
    this.#todayS = Math.floor(options.clock.wallMs() / 1_000 / DAY_S) * DAY_S;
  }

  /** Values that the gateway acknowledged. */
  get valueCount(): number {
    const { attributes, devices } = this.#options;
    return this.#acknowledged.length * QUARTER_S * devices.length * attributes.length;
  }

  /** Imports one piece after the other until the signal, or until the gateway is gone. */
  async write(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await this.#importNext()));
  }

  /** False when nobody knows whether it was taken in; such a piece is never judged. */
  async #importNext(): Promise<boolean> {
    const piece = this.#nextPiece();
    try {
      await this.#options.client.json({
        method: 'POST',
        path: '/telemetry/import',
        csv: this.#csvOf(piece),
        signal: AbortSignal.timeout(IMPORT_TIMEOUT_MS),
      });
    } catch (error) {
      if (error instanceof GatewayUnreachable) return false;
      if (error instanceof GatewayRefusal && error.status >= 500) return false;
      throw error;
    }
    this.#acknowledged.push(piece);
    return true;
  }

  #nextPiece(): Piece {
    const number = this.#begun++;
    const ageDays = AGE_DAYS.first + Math.floor(number / PIECES_PER_DAY);
    return {
      fromS: this.#todayS - ageDays * DAY_S + (number % PIECES_PER_DAY) * QUARTER_S,
      granularityS: ageDays <= AGE_DAYS.minutes ? MINUTE_S : QUARTER_S,
    };
  }

  #csvOf({ fromS }: Piece): string {
    const columns = this.#columns();
    const head = columns.map(({ device, attribute }) => `telemetry=${attribute.name} device=${device.id}`);
    const lines = [`ts,${head.join(',')}`];
    for (let second = fromS; second < fromS + QUARTER_S; second++) {
      const cells = columns.map(({ device, attribute }) => sampleValue(device.number, second, attribute));
      lines.push(`${second},${cells.join(',')}`);
    }
    return `${lines.join('\n')}\n`;
  }

  #columns(): { device: { id: string; number: number }; attribute: Attribute }[] {
    const { attributes, devices } = this.#options;
    return devices.flatMap((device) => attributes.map((attribute) => ({ device, attribute })));
  }

  /** Every acknowledged piece must say what its samples said, whatever has become of them. */
  async verify(): Promise<Problem[]> {
    const questions = this.#acknowledged.flatMap((piece) =>
      AGGREGATIONS.map((aggregation) => ({ piece, aggregation })),
    );
    const answers = await inParallel(questions, QUESTIONS_AT_ONCE, ({ piece, aggregation }) =>
      this.#judge(piece, aggregation),
    );
    return answers.flat();
  }

  async #judge(piece: Piece, aggregation: Aggregation): Promise<Problem[]> {
    const { attributes, client, devices } = this.#options;
    const text = await client.text({
      method: 'POST',
      path: '/telemetry/query_timeseries',
      accept: 'text/csv',
      body: {
        from: piece.fromS,
        to: piece.fromS + QUARTER_S,
        granularity: `${piece.granularityS}s`,
        aggregation,
        telemetry: devices.map(({ id }) => ({ device: id, attribute: attributes.map(({ name }) => name) })),
      },
    });
    const [header = [], ...rows] = parseCsv(text);
    const byTime = new Map(rows.map((row) => [Number(row[0]), row]));
    return this.#columns().flatMap(({ device, attribute }) => {
      const place = header.findIndex((title) =>
        title.startsWith(`telemetry=${attribute.name} device=${device.id} `),
      );
      const cellAt = (startS: number): string => byTime.get(startS)?.[place] ?? '';
      return judgeBuckets(device.number, attribute, piece, aggregation, cellAt);
    });
  }
}

/** `cellAt` tells what the gateway says of a bucket; empty: nothing. */
export function judgeBuckets(
  device: number,
  attribute: Attribute,
  { fromS, granularityS }: Piece,
  aggregation: Aggregation,
  cellAt: (startS: number) => string,
): Problem[] {
  const problems: Problem[] = [];
  for (let startS = fromS; startS < fromS + QUARTER_S; startS += granularityS) {
    const values = Array.from({ length: granularityS }, (_, offset) =>
      Number(sampleValue(device, startS + offset, attribute)),
    );
    const expected = aggregated(values, aggregation);
    const cell = cellAt(startS);
    if (cell !== '' && Math.abs(Number(cell) - expected) <= 1e-6) continue;
    problems.push({
      kind: cell === '' ? 'lost' : 'wrong',
      item: `history of device ${device} from ${startS}: ${aggregation} of ${attribute.name} is ${cell}, must be ${expected}`,
    });
  }
  return problems;
}

function aggregated(values: readonly number[], aggregation: Aggregation): number {
  switch (aggregation) {
    case 'avg':
      return values.reduce((sum, value) => sum + value, 0) / values.length;
    case 'min':
      return Math.min(...values);
    case 'max':
      return Math.max(...values);
    case 'last':
      return values.at(-1) ?? Number.NaN;
  }
}
