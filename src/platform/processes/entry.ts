import { fileURLToPath } from 'node:url';
import { packagePath } from '../files/index.ts';

/**
 * Absolute path of the entry point of a child program or worker thread, for `fork` and `new Worker`. The name
 * is the module's path below `src/` without its ending, such as `scripting/rule-sandbox/main`; it is also a row
 * of the table of programs in `scripts/build.ts`. The bundle leads to the `.js` file of that name below `dist/`, the
 * sources to the `.ts` file, or with `--conditions=bundled` to the bundle too: tests start it in a seventh of the time.
 */
export function programEntry(name: string): string {
  const fromSources = import.meta.filename.endsWith('.ts');
  return fromSources
    ? fileURLToPath(import.meta.resolve(`#programs/${name}`))
    : packagePath('dist', `${name}.js`);
}
