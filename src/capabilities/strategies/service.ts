import { type Localized, type Strategy, strategyScript } from '#library';
import { errorOfProblems, requireFound, unprocessable } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { nameContains } from '../../lib/text.ts';
import type { Devices } from '../devices/index.ts';
import type { Rule, Rules, RuleScript } from '../rules/index.ts';
import { judgeParameters } from './parameters.ts';
import { StrategyFiles } from './strategy-files.ts';

interface StrategiesOptions {
  devices: Devices;
  rules: Rules;
}

type Given = Readonly<Record<string, unknown>>;

/** The library of strategies, and the rules that are made from them: ordinary rules that know their parameters. */
export class Strategies {
  readonly #options: StrategiesOptions;
  readonly #files = new StrategyFiles();

  constructor(options: StrategiesOptions) {
    this.#options = options;
  }

  /** By name, those whose texts contain all words. */
  list(search: string, categories: readonly string[] | undefined): Strategy[] {
    const words = search.split(/\s+/);
    return this.#files.strategies
      .filter(({ id, name, about, category }) => {
        const said = [id, ...textsOf(name), ...textsOf(about)].join(' ');
        return words.every((word) => nameContains(said, word)) && (categories?.includes(category) ?? true);
      })
      .sort((a, b) => a.name.en.localeCompare(b.name.en, 'en'));
  }

  /** @throws GatewayError strategy_not_found (404) */
  require(id: string): Strategy {
    return requireFound(
      'strategy_not_found',
      `There is no strategy "${id.slice(0, 64)}".`,
      this.#files.strategies.find((strategy) => strategy.id === id),
    );
  }

  /** The script with these parameters; nothing is stored. @throws strategy_not_found, invalid_strategy_parameters */
  script(id: string, given: Given): RuleScript {
    return this.#made(id, given).script;
  }

  /** @throws strategy_not_found, invalid_strategy_parameters, already_exists, rule_limit_reached */
  createRule(id: string, rule: { slug: string; disabled: boolean; parameters: Given; by: string }): Rule {
    const { slug, disabled, parameters, by } = rule;
    return this.#options.rules.create({ slug, disabled, by, ...this.#made(id, parameters) });
  }

  /**
   * Those that are given replace those of the rule, null means the default; the rule starts again with them.
   * @throws rule_without_strategy (422), strategy_not_found, invalid_strategy_parameters
   */
  updateParameters(rule: Rule, change: Given, by: string): Rule {
    if (!rule.strategy)
      throw unprocessable(
        'rule_without_strategy',
        'The rule has a script of its own and no parameters; change the script.',
      );
    const { id, parameters } = rule.strategy;
    const { script, strategy } = this.#made(id, { ...parameters, ...change });
    return this.#options.rules.updateScript(rule, script, { strategy, by });
  }

  #made(id: string, given: Given) {
    const strategy = this.require(id);
    const { stored, script: values, problems } = judgeParameters(strategy, given, this.#options.devices);
    const refusal = errorOfProblems('unprocessable', problems.slice(0, LIMITS.http.problems));
    if (refusal) throw refusal;
    const code = strategyScript(strategy, values, this.#files.shared);
    const { scriptBytes } = LIMITS.rules;
    if (Buffer.byteLength(code) > scriptBytes)
      throw unprocessable(
        'invalid_strategy_parameters',
        `The parameters must give a script of at most ${scriptBytes} bytes.`,
        { field: 'parameters' },
      );
    const script: RuleScript = { code, runtimeVersion: 'V3', execIntervalMs: undefined };
    return { script, strategy: { id, parameters: stored } };
  }
}

const textsOf = (text: Localized): string[] => Object.values(text);
