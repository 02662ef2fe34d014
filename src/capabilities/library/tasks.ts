/** Questions to the thread of the library, and their answers. */
import type { Evidence, TemplateFault } from '#library';
import type { LibraryDevice, LibraryEntry, RecognisedDevice, SearchQuestions } from './model.ts';

/** A template of the library by its id, or one of the owner by its text. */
interface Named {
  id: string;
  text?: string | undefined;
}

export type LibraryTask =
  /** All of the library, or those texts of the owner. */
  | { kind: 'devices'; own?: Readonly<Record<string, string>> }
  | ({ kind: 'entry' } & Named)
  /** An upload: it must compile with each choice of its parameters. */
  | { kind: 'judge'; text: string }
  | { kind: 'schema' }
  /** Questions of a search on the network. `own`: texts of the owner. */
  | { kind: 'questions'; own: Readonly<Record<string, string>> }
  | { kind: 'recognise'; evidence: Evidence; own: Readonly<Record<string, string>> }
  /** `isForgiving`: parameters that the template does not have, or not so, take their default. */
  | ({ kind: 'compile'; parameters: Readonly<Record<string, unknown>>; isForgiving?: boolean } & Named);

export interface CompiledDevice {
  name: string;
  parameters: Record<string, string>;
  digest: string;
  /** Path in the archive → content. */
  files: Record<string, string>;
  manifest: Record<string, unknown>;
}

/** A template that compiles, and its blueprint with the default parameters. */
export interface JudgedTemplate {
  entry: LibraryEntry;
  /** Path in the archive → content. */
  files: Readonly<Record<string, string>>;
}

export interface LibraryResults {
  devices: LibraryDevice[];
  /** Undefined: there is no such template. */
  entry: LibraryEntry | undefined;
  judge: JudgedTemplate;
  /** JSON Schema of templates. */
  schema: string;
  questions: SearchQuestions;
  recognise: RecognisedDevice[];
  compile: CompiledDevice | undefined;
}

export type LibraryAnswer =
  | { result: LibraryResults[keyof LibraryResults]; faults?: undefined; refused?: undefined }
  | { faults: TemplateFault[]; refused?: undefined }
  /** Parameters that the caller gave wrongly. */
  | { refused: { name: string; message: string }[]; faults?: undefined };
