/** Questions to devices on a network, and the templates that recognise their answers. */
import {
  type Evidence,
  identityOf,
  identityQuestions,
  parseTemplate,
  questionsOf,
  type RegisterRead,
  strengthOf,
  type Template,
} from '#library';
import type { LibraryFiles } from './library-files.ts';
import type { RecognisedDevice, SearchQuestions } from './model.ts';

type Own = Readonly<Record<string, string>>;

export class Recogniser {
  readonly #files: LibraryFiles;
  #delivered: ReadonlyMap<string, Template> | undefined;

  constructor(files: LibraryFiles) {
    this.#files = files;
  }

  questions(own: Own): SearchQuestions {
    const all = [...this.#templates(own).values()].map((template) => ({
      template,
      ...questionsOf(template),
    }));
    const modbus = all.flatMap(({ template: { modbus }, reads }) => (modbus ? [{ modbus, reads }] : []));
    const tcp = modbus.filter(({ modbus: { transports } }) => transports.includes('tcp'));
    const serial = modbus.filter(({ modbus: { transports } }) => transports.includes('rtu'));
    const http = all.flatMap(({ template, paths }) =>
      paths.map((path) => ({ port: template.http?.port ?? HTTP_PORT, path })),
    );
    return {
      units: unique(tcp.map(({ modbus: { unit } }) => unit)).map((unit) => ({
        unit,
        reads: unique(tcp.filter(({ modbus: { unit: own } }) => own === unit).flatMap(({ reads }) => reads)),
      })),
      tcpReads: unique(tcp.flatMap(({ reads }) => reads)),
      serialReads: unique(serial.flatMap(({ reads }) => reads)),
      lines: unique(
        serial.flatMap(({ modbus: { baud, parity, stop_bits: stopBits } }) =>
          baud === undefined ? [] : [{ baud, parity, stopBits }],
        ),
      ),
      http: unique(http.map(({ port }) => port)).map((port) => ({
        port,
        paths: unique(http.filter((one) => one.port === port).map(({ path }) => path)),
      })),
      services: unique(all.flatMap(({ services }) => services)),
    };
  }

  /** Those whose evidence is strongest; several where it does not tell them apart. */
  recognise(evidence: Evidence, own: Own): RecognisedDevice[] {
    const { sunSpec } = this.#files.books;
    const matches = [...this.#templates(own)].map(([id, template]) => ({
      id,
      template,
      strength: strengthOf(template, evidence),
    }));
    const strongest = Math.max(1, ...matches.map(({ strength }) => strength));
    return matches
      .filter(({ strength }) => strength === strongest)
      .map(({ id, template }) => {
        const { name, maker, modbus, http } = template;
        const { serial_number: serialNumber, model } = identityOf(template, sunSpec, evidence);
        return {
          id,
          name,
          maker,
          transport: modbus ? 'MODBUS_TCP' : http ? 'HTTP' : 'MQTT',
          port: modbus ? modbus.port : (http?.port ?? HTTP_PORT),
          serialNumber,
          model,
          identity: identityQuestions(template, sunSpec),
        };
      });
  }

  #templates(own: Own): Map<string, Template> {
    this.#delivered ??= new Map(parsed(this.#files.texts));
    return new Map([...this.#delivered, ...parsed(Object.entries(own))]);
  }
}

const HTTP_PORT = 80;

/** Those that this version cannot read are left out. */
const parsed = (texts: Iterable<readonly [string, string]>): [string, Template][] =>
  [...texts].flatMap(([id, text]): [string, Template][] => {
    const { template } = parseTemplate(text);
    return template ? [[id, template]] : [];
  });

function unique<Item extends RegisterRead | string | number | object>(items: readonly Item[]): Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}
