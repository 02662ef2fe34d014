/** What somebody has of workload W: a few bytes for each series and second, to be compared by count and checksum. */
import type { SignalDefinition } from '../../support/workload-devices.ts';
import type { Workload } from '../../support/workload.ts';

export interface Series {
  /** As the workload counts them. */
  index: number;
  device: number;
  attribute: string;
  form: SignalDefinition['form'];
}

export const seriesOf = ({ devices }: Pick<Workload, 'devices'>): Series[] =>
  devices.flatMap(({ index: device, first, signals }) =>
    signals.map(({ name, form }, offset) => ({ index: first + offset, device, attribute: name, form })),
  );

/** The same text for a value, however it is written where it was found. */
function textOf(form: Series['form'], value: unknown): string {
  if (form === 'state') return String(value);
  if (form === 'switch') return ['true', '1'].includes(String(value)) ? '1' : '0';
  return String(Number(value));
}

/** FNV-1a, never 0. */
function digestOf(text: string): number {
  let digest = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    digest = Math.imul(digest ^ text.charCodeAt(index), 0x01000193);
  return digest >>> 0 || 1;
}

export interface Sum {
  count: number;
  checksum: number;
}

export class SeriesChecksums {
  readonly #startS: number;
  readonly #seconds: number;
  /** Digest of each second of each series, 0 where there is nothing. */
  readonly #digests: Uint32Array[];
  /** Values that came again, as they were. */
  repeated = 0;
  /** Values that came again as others, and values of no second of the workload. */
  readonly contradictions: string[] = [];

  constructor(seriesCount: number, startS: number, seconds: number) {
    this.#startS = startS;
    this.#seconds = seconds;
    this.#digests = Array.from({ length: seriesCount }, () => new Uint32Array(seconds));
  }

  note(series: Series, atS: number, value: unknown): void {
    const second = atS - this.#startS;
    const digests = this.#digests[series.index];
    const said = `${series.attribute} of device ${series.device} at ${atS} is ${String(value)}`;
    if (!digests || !(second >= 0 && second < this.#seconds)) {
      this.contradictions.push(`${said}, which nobody sent`);
      return;
    }
    const digest = digestOf(textOf(series.form, value));
    const known = digests[second];
    if (known === digest) this.repeated++;
    else if (known !== 0) this.contradictions.push(`${said}, and was another one before`);
    digests[second] = digest;
  }

  sum({ index }: Series): Sum {
    const sum: Sum = { count: 0, checksum: 0x811c9dc5 };
    for (const [second, digest] of (this.#digests[index] ?? []).entries()) {
      if (digest === 0) continue;
      sum.count++;
      sum.checksum = Math.imul(Math.imul(sum.checksum ^ second, 0x01000193) ^ digest, 0x01000193) >>> 0;
    }
    return sum;
  }

  /** The first second of the workload in which the two differ; undefined: in none. */
  firstDifference(other: SeriesChecksums, { index }: Series): number | undefined {
    const [own, others] = [this.#digests[index], other.#digests[index]];
    const second = own?.findIndex((digest, at) => digest !== others?.[at]) ?? -1;
    return second === -1 ? undefined : second;
  }
}
