/** The input for a device that is being added; it is kept while other pages are shown. */
import { signal } from '@preact/signals';

interface Typed {
  /** Id; undefined until one is chosen, empty when the device shall have none. */
  blueprint: string | undefined;
  /** Id of a device of the library. */
  template: string | undefined;
  /** Settings of the connection, as a search found them. */
  connection: Readonly<Record<string, unknown>> | undefined;
  name: string;
  /** Module on which a Lua device runs; empty: the gateway's own. */
  runtime: string;
  /** Empty: the safest that the gateway offers. */
  protocol: string;
}

const NOTHING: Typed = {
  blueprint: undefined,
  template: undefined,
  connection: undefined,
  name: '',
  runtime: '',
  protocol: '',
};

export const typed = signal(NOTHING);

export function type(part: Partial<Typed>): void {
  typed.value = { ...typed.value, ...part };
}

export function forget(): void {
  typed.value = NOTHING;
}
