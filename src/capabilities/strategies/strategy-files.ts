/** The strategies as they lie in the package, read when they are needed first. */
import { loadStrategy, type Strategy } from '#library';
import { packagePath, readTree } from '../../platform/files/index.ts';

const FOLDER = ['src', 'library', 'strategies'] as const;
const DECLARATION = '/strategy.yml';

export class StrategyFiles {
  #read: { strategies: readonly Strategy[]; shared: string } | undefined;

  /** By id. */
  get strategies(): readonly Strategy[] {
    return this.#content.strategies;
  }

  /** Lua code that all scripts share. */
  get shared(): string {
    return this.#content.shared;
  }

  get #content(): { strategies: readonly Strategy[]; shared: string } {
    this.#read ??= readStrategies();
    return this.#read;
  }
}

function readStrategies(): { strategies: Strategy[]; shared: string } {
  const texts = new Map(
    [...readTree(packagePath(...FOLDER))].map(([path, content]) => [path, content.toString('utf8')]),
  );
  const strategies = [...texts]
    .filter(([path]) => path.endsWith(DECLARATION))
    .map(([path, declaration]) => {
      const id = path.slice(0, -DECLARATION.length);
      return loadStrategy(id, { declaration, rule: texts.get(`${id}/rule.lua`) ?? '' });
    });
  return { strategies, shared: texts.get('shared.lua') ?? '' };
}
