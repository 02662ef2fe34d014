/**
 * CSV files by day in a folder, for people who carry data by hand: `timestamp,device,attribute,value`, and for each other
 * content `timestamp,device,number,record` with the record as JSON. Samples count as acknowledged once their files are on the
 * disk under their names; until then the store keeps them.
 */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type EpochS, formatTimestamp, type MonotonicMs } from '../../../lib/time.ts';
import { type DatedFiles, FolderFailure } from '../../../platform/files/index.ts';
import { csvField } from '../../telemetry/index.ts';
import {
  asTargetFailure,
  type FolderSettings,
  type LabelledRecord,
  type LabelledSamples,
  nothingSent,
  type Pace,
  type Place,
  type Sent,
  type Sink,
} from '../model.ts';
import { writtenValue } from '../sample-text.ts';

const compress = promisify(gzip);
const SAMPLES_HEAD = 'timestamp,device,attribute,value\n';
const RECORDS_HEAD = 'timestamp,device,number,record\n';
const DAY_LENGTH = '2026-03-01'.length;
/** Names with numbers of this width sort by number. */
const SEQUENCE_DIGITS = 12;

interface FolderSinkOptions {
  settings: FolderSettings;
  pieces: DatedFiles;
  monotonicMs: () => MonotonicMs;
  /** Larger files are kept before their time is over. */
  pieceBytes: number;
  /** Files open at once; late samples may belong to many days. */
  openFilesMax: number;
}

export class FolderSink implements Sink {
  readonly #options: FolderSinkOptions;
  #begunAtMs: MonotonicMs | undefined;
  #bytes = 0;

  constructor(options: FolderSinkOptions) {
    this.#options = options;
  }

  async begin(after: Place): Promise<void> {
    this.#begunAtMs = undefined;
    await asFailure(this.#options.pieces.begin(placeOf(after)));
    this.#begunAtMs = this.#options.monotonicMs();
    this.#bytes = 0;
  }

  async send(samples: readonly LabelledSamples[], pace: Pace): Promise<Sent> {
    const sent = nothingSent();
    await this.#append('telemetry', SAMPLES_HEAD, sampleRows(samples), { sent, pace });
    return sent;
  }

  async sendRecords(records: readonly LabelledRecord[], pace: Pace): Promise<Sent> {
    const sent = nothingSent();
    for (const [content, ofContent] of Map.groupBy(records, (record) => record.content))
      await this.#append(content.toLowerCase(), RECORDS_HEAD, recordRows(ofContent), { sent, pace });
    return sent;
  }

  async #append(
    subject: string,
    head: string,
    rowsByDay: ReadonlyMap<string, readonly string[]>,
    { sent, pace }: { sent: Sent; pace: Pace },
  ): Promise<void> {
    for (const [day, rows] of rowsByDay) {
      const content = await this.#encoded(rows.join(''));
      await pace(content.length);
      await asFailure(
        this.#options.pieces.append({ day, subject, head: await this.#encoded(head), content }),
      );
      this.#bytes += content.length;
      sent.bytes += content.length;
      sent.samples += rows.length;
    }
  }

  async keep(isLast: boolean): Promise<boolean> {
    const { settings, pieces, pieceBytes, openFilesMax, monotonicMs } = this.#options;
    if (this.#begunAtMs === undefined || pieces.openCount === 0) return true;
    const ageMs = monotonicMs() - this.#begunAtMs;
    const isDue =
      isLast ||
      ageMs >= settings.pieceMinutes * 60_000 ||
      this.#bytes >= pieceBytes ||
      pieces.openCount >= openFilesMax;
    if (!isDue) return false;
    await asFailure(pieces.keep());
    return true;
  }

  async test(): Promise<void> {
    await asFailure(this.#options.pieces.probe());
  }

  close(): void {
    // Files are open only while something is written.
  }

  async #encoded(text: string): Promise<Uint8Array> {
    // Concatenated gzip members are one valid file.
    return this.#options.settings.isCompressed ? compress(text) : Buffer.from(text);
  }
}

function placeOf({ position: { sequence, within }, records }: Place): string {
  const numbers = [
    ...(within ? [within.upTo, within.seriesId, within.fromS] : []),
    ...Object.values(records),
  ];
  return [String(sequence).padStart(SEQUENCE_DIGITS, '0'), ...numbers].join('-');
}

function recordRows(records: readonly LabelledRecord[]): Map<string, string[]> {
  const days = new Map<string, string[]>();
  for (const { atMs, number, labels, body } of records) {
    const instant = formatTimestamp(atMs);
    const row = [instant, csvField(labels.device ?? ''), number, csvField(JSON.stringify(body))].join(',');
    const day = instant.slice(0, DAY_LENGTH);
    days.getOrInsertComputed(day, () => []).push(`${row}\n`);
  }
  return days;
}

function sampleRows(series: readonly LabelledSamples[]): Map<string, string[]> {
  const days = new Map<string, string[]>();
  const instants = new Map<number, string>();
  for (const samples of series) {
    const named = `,${csvField(samples.labels.device)},${csvField(samples.attribute)},`;
    for (const [index, timestampS] of samples.times.entries()) {
      const instant = instants.getOrInsertComputed(timestampS, instantOf);
      const rows = days.getOrInsertComputed(instant.slice(0, DAY_LENGTH), () => []);
      rows.push(`${instant}${named}${writtenValue(samples, index, csvField)}\n`);
    }
  }
  return days;
}

/** Without a fraction, because samples have whole seconds. */
const instantOf = (timestampS: EpochS): string => formatTimestamp(timestampS * 1_000).replace('.000', '');

const asFailure = <Result>(work: Promise<Result>): Promise<Result> => asTargetFailure(FolderFailure, work);
