import { packagePath } from '../files/index.ts';

/**
 * Absolute path of the entry point of a child program or worker thread, for `fork` and `new Worker`. The name
 * is the module's path below `src/` without its ending, such as `programs/rule-sandbox/main`; it is also a row
 * of the table of programs in `scripts/build.ts`. From the sources it leads to a `.ts` file, from the bundle
 * to the `.js` file of the same name below `dist/`.
 */
export function programEntry(name: string): string {
  const fromSources = import.meta.filename.endsWith('.ts');
  return fromSources ? packagePath('src', `${name}.ts`) : packagePath('dist', `${name}.js`);
}
